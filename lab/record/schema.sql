-- schema.sql - the leaderboard, version 1; schema_2.sql to schema_4.sql add to it
--
-- Rows are added and never changed: every table refuses UPDATE and DELETE. A change, such as the
-- progress of a run, is a new row. The leaderboard was a view until version 4.
--
-- Times are seconds, sizes bytes, moments UTC in ISO 8601 with milliseconds, hashes SHA-256 in
-- lower-case hexadecimal digits. NULL: not known. A `hash` covers everything that identifies the
-- row, so equal things share one row.

-- The possible verdicts of a trial. heed adds its verdicts when it opens the file.
CREATE TABLE verdict (
    name    TEXT PRIMARY KEY,
    meaning TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE device (
    id              INTEGER PRIMARY KEY,
    hash            TEXT NOT NULL UNIQUE,
    name            TEXT NOT NULL, -- as heed_context_device() says
    backend         TEXT NOT NULL CHECK (backend IN ('cpu', 'cuda')),
    memory_bytes    REAL,
    cache_bytes     REAL,
    multiprocessors REAL,
    clock_hz        REAL,          -- highest that the device has
    bandwidth       REAL           -- bytes per second, by the data sheet
) STRICT;

-- Everything around the device that may affect results.
CREATE TABLE environment (
    id         INTEGER PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    device     INTEGER NOT NULL REFERENCES device,
    features   TEXT,    -- as wisdom has them: avx512bf16, sm_90-driver13.0-nvrtc13.0
    threads    INTEGER NOT NULL,
    build      TEXT,    -- of the kernels, as wisdom has it
    heed       TEXT,    -- version of libheed
    git_commit TEXT,    -- that heed was built from, ...
    dirty      INTEGER NOT NULL CHECK (dirty IN (0, 1)), -- ... with changes on top of it
    driver     TEXT,
    nvrtc      TEXT,
    compiler   TEXT,
    libraries  TEXT,
    cpu        TEXT,
    system     TEXT,
    governor   TEXT
) STRICT;

CREATE TABLE source (
    id       INTEGER PRIMARY KEY,
    sha256   TEXT NOT NULL UNIQUE, -- of the text
    language TEXT NOT NULL CHECK (language IN ('c', 'cuda')),
    text     TEXT NOT NULL
) STRICT;

-- The output of a compiler for a source, and the facts known without running it.
CREATE TABLE artifact (
    id           INTEGER PRIMARY KEY,
    sha256       TEXT NOT NULL UNIQUE, -- of the file
    form         TEXT NOT NULL CHECK (form IN ('cubin', 'ptx', 'so')),
    bytes        INTEGER NOT NULL,
    registers    INTEGER,
    spill_bytes  INTEGER,
    shared_bytes INTEGER
) STRICT;

CREATE TABLE problem (
    id    INTEGER PRIMARY KEY,
    spec  TEXT NOT NULL UNIQUE, -- canonical
    flops REAL NOT NULL,
    bytes REAL NOT NULL
) STRICT;

-- A kernel in a config, with its proposer and the reason as of its first proposal.
CREATE TABLE candidate (
    id       INTEGER PRIMARY KEY,
    hash     TEXT NOT NULL UNIQUE, -- of kernel, config and source
    kernel   TEXT NOT NULL,
    config   TEXT NOT NULL,
    source   INTEGER REFERENCES source, -- NULL: a kernel of heed's own, whose build tells
    proposer TEXT,
    seed     INTEGER,
    thought  TEXT
) STRICT;

CREATE TABLE ancestry (
    candidate INTEGER NOT NULL REFERENCES candidate,
    parent    INTEGER NOT NULL REFERENCES candidate,
    PRIMARY KEY (candidate, parent)
) STRICT, WITHOUT ROWID;

-- One piece of work, which may be interrupted and resumed: `key` identifies the work, and the newest
-- event has its state.
CREATE TABLE run (
    id      INTEGER PRIMARY KEY,
    key     TEXT NOT NULL,
    verb    TEXT NOT NULL,
    command TEXT NOT NULL,
    budget  TEXT,
    seed    INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_key ON run (key);

CREATE TABLE event (
    id    INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL REFERENCES run,
    at    TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'resumed', 'interrupted', 'failed', 'finished')),
    note  TEXT
) STRICT;
CREATE INDEX event_by_run ON event (run);

-- How many of the wrong kernels the gates killed, and how many of the correct ones they accepted.
CREATE TABLE selftest (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    backend    TEXT NOT NULL CHECK (backend IN ('cpu', 'cuda')), -- of the kernels that were tried
    suite      TEXT NOT NULL, -- hash of which they are
    git_commit TEXT,          -- of the gates; with -dirty, if there were changes on top of it
    killed     INTEGER NOT NULL CHECK (killed BETWEEN 0 AND wrong),
    wrong      INTEGER NOT NULL,
    accepted   INTEGER NOT NULL CHECK (accepted BETWEEN 0 AND honest),
    honest     INTEGER NOT NULL
) STRICT;

CREATE TABLE trial (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES run,
    candidate   INTEGER NOT NULL REFERENCES candidate,
    problem     INTEGER NOT NULL REFERENCES problem,
    attempt     INTEGER NOT NULL CHECK (attempt >= 0),
    environment INTEGER NOT NULL REFERENCES environment,
    artifact    INTEGER REFERENCES artifact,
    selftest    INTEGER REFERENCES selftest,
    verdict     TEXT NOT NULL REFERENCES verdict,
    reason      TEXT,    -- a sentence
    seed        INTEGER NOT NULL,
    started     TEXT NOT NULL,
    ended       TEXT NOT NULL,
    confirmed   INTEGER NOT NULL CHECK (confirmed IN (0, 1)), -- by samples taken after it was chosen
    timing      TEXT CHECK (timing IN ('cold', 'hot')), -- what `seconds` is; the two never compare
    seconds     REAL CHECK (seconds > 0),               -- median of a call
    p90         REAL CHECK (p90 > 0),
    of_roofline REAL CHECK (of_roofline > 0),           -- share of what the device can do
    UNIQUE (run, candidate, problem, attempt),
    CHECK ((seconds IS NULL) = (timing IS NULL))
) STRICT;

-- Seconds per call in the order in which they were taken: `count` IEEE 754 doubles, little-endian.
-- `against` is '' for the candidate alone; a comparison has both sides, paired by index.
CREATE TABLE sample (
    trial   INTEGER NOT NULL REFERENCES trial,
    against TEXT NOT NULL,
    side    TEXT NOT NULL CHECK (side IN ('self', 'other')),
    kind    TEXT NOT NULL CHECK (kind IN ('cold', 'hot', 'eager')),
    calls   INTEGER NOT NULL CHECK (calls >= 0), -- that each number is the mean of; 0: not known
    count   INTEGER NOT NULL,
    seconds BLOB NOT NULL CHECK (length(seconds) = 8 * count),
    PRIMARY KEY (trial, against, side, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE comparison (
    trial   INTEGER NOT NULL REFERENCES trial,
    against TEXT NOT NULL,               -- a rival, or a kernel with its config
    other   INTEGER REFERENCES candidate, -- what it was, where that is on the board
    version TEXT,
    method  TEXT,                        -- how a rival did it
    outcome TEXT NOT NULL,               -- ok, or why there is no figure
    reason  TEXT,
    seconds REAL CHECK (seconds > 0),    -- of the other
    ratio   REAL CHECK (ratio > 0),      -- time of the other over that of the candidate
    low     REAL CHECK (low > 0),
    high    REAL CHECK (high > 0),
    margin  REAL,
    verdict TEXT CHECK (verdict IN ('FASTER', 'SLOWER', 'EQUIVALENT', 'AMBIGUOUS')),
    pairs   INTEGER,
    PRIMARY KEY (trial, against)
) STRICT, WITHOUT ROWID;

CREATE TABLE gate (
    trial  INTEGER NOT NULL REFERENCES trial,
    name   TEXT NOT NULL,
    passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
    detail TEXT,
    seed   INTEGER NOT NULL,
    PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;

-- Further facts: clocks, power, counters, the largest error.
CREATE TABLE fact (
    trial INTEGER NOT NULL REFERENCES trial,
    name  TEXT NOT NULL,
    value ANY NOT NULL,
    PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;

-- Hash of a trial and its rows, made when it was added.
CREATE TABLE seal (
    trial  INTEGER PRIMARY KEY REFERENCES trial,
    sha256 TEXT NOT NULL
) STRICT;

-- A trial that took the lead, after both kernels had been timed again in turns.
CREATE TABLE promotion (
    id     INTEGER PRIMARY KEY,
    trial  INTEGER NOT NULL UNIQUE REFERENCES trial,
    over   INTEGER REFERENCES trial,
    at     TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;

CREATE TRIGGER verdict_keep     BEFORE UPDATE ON verdict     BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER verdict_stay     BEFORE DELETE ON verdict     BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER device_keep      BEFORE UPDATE ON device      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER device_stay      BEFORE DELETE ON device      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER environment_keep BEFORE UPDATE ON environment BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER environment_stay BEFORE DELETE ON environment BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER source_keep      BEFORE UPDATE ON source      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER source_stay      BEFORE DELETE ON source      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER artifact_keep    BEFORE UPDATE ON artifact    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER artifact_stay    BEFORE DELETE ON artifact    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER problem_keep     BEFORE UPDATE ON problem     BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER problem_stay     BEFORE DELETE ON problem     BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER candidate_keep   BEFORE UPDATE ON candidate   BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER candidate_stay   BEFORE DELETE ON candidate   BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER ancestry_keep    BEFORE UPDATE ON ancestry    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER ancestry_stay    BEFORE DELETE ON ancestry    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_keep         BEFORE UPDATE ON run         BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER run_stay         BEFORE DELETE ON run         BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER event_keep       BEFORE UPDATE ON event       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER event_stay       BEFORE DELETE ON event       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER selftest_keep    BEFORE UPDATE ON selftest    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER selftest_stay    BEFORE DELETE ON selftest    BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER trial_keep       BEFORE UPDATE ON trial       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER trial_stay       BEFORE DELETE ON trial       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER sample_keep      BEFORE UPDATE ON sample      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER sample_stay      BEFORE DELETE ON sample      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER comparison_keep  BEFORE UPDATE ON comparison  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER comparison_stay  BEFORE DELETE ON comparison  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER gate_keep        BEFORE UPDATE ON gate        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER gate_stay        BEFORE DELETE ON gate        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER fact_keep        BEFORE UPDATE ON fact        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER fact_stay        BEFORE DELETE ON fact        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER seal_keep        BEFORE UPDATE ON seal        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER seal_stay        BEFORE DELETE ON seal        BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER promotion_keep   BEFORE UPDATE ON promotion   BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER promotion_stay   BEFORE DELETE ON promotion   BEGIN SELECT RAISE(ABORT, 'append-only'); END;

-- A trial in one row. A trial made with a selftest that did not kill all wrong kernels and accept all
-- correct ones is not trusted.
CREATE VIEW result AS
SELECT trial.id AS trial, trial.run, trial.candidate, problem.spec, device.name AS device,
       device.backend, environment.features, environment.threads, environment.build,
       candidate.kernel, candidate.config, trial.verdict, trial.reason, trial.timing,
       trial.confirmed, trial.seconds, trial.p90, problem.flops / trial.seconds AS rate,
       trial.of_roofline, environment.heed, environment.git_commit, environment.dirty, trial.ended,
       promotion.id AS promotion,
       CASE WHEN selftest.id IS NULL THEN 'untested'
            WHEN selftest.wrong > 0 AND selftest.killed = selftest.wrong AND selftest.honest > 0
                 AND selftest.accepted = selftest.honest THEN 'yes'
            ELSE 'no' END AS trusted
FROM trial
JOIN problem ON problem.id = trial.problem
JOIN candidate ON candidate.id = trial.candidate
JOIN environment ON environment.id = trial.environment
JOIN device ON device.id = environment.device
LEFT JOIN selftest ON selftest.id = trial.selftest
LEFT JOIN promotion ON promotion.trial = trial.id;

-- Places are per problem, device, number of threads, and cold or hot. Of each candidate
-- the newest confirmed trial counts, not the luckiest. The candidate promoted last leads; where
-- none was promoted, the fastest leads.
CREATE VIEW leaderboard AS
WITH latest AS (
    SELECT *,
           row_number() OVER (PARTITION BY spec, device, threads, timing, candidate
                              ORDER BY ended DESC, trial) AS age,
           max(promotion) OVER (PARTITION BY spec, device, threads, timing, candidate) AS title
    FROM result
    WHERE verdict = 'ok' AND confirmed AND seconds IS NOT NULL AND trusted <> 'no')
SELECT *, row_number() OVER (PARTITION BY spec, device, threads, timing
                             ORDER BY title DESC NULLS LAST, seconds, trial) AS place
FROM latest WHERE age = 1;
