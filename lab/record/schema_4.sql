-- schema_4.sql - changes of version 4 of the leaderboard: every row that heed adds has a link in one hash chain,
-- which reveals rows inserted, deleted, changed or moved by another program

-- The links, in the order in which rows were added, from 1 without a gap. The rows of a trial, such
-- as samples and gates, are part of the trial's link. heed makes the links of an older file when it
-- migrates it; those of trials take over the hashes of the table `seal`, which is dropped.
CREATE TABLE link (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind   TEXT NOT NULL, -- the table
    name   TEXT NOT NULL, -- the row's key there, as text
    sha256 TEXT NOT NULL, -- of the content
    chain  TEXT NOT NULL, -- of the link before, and of all that is in this one
    UNIQUE (kind, name)
) STRICT;

CREATE TRIGGER link_keep BEFORE UPDATE ON link BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER link_stay BEFORE DELETE ON link BEGIN SELECT RAISE(ABORT, 'append-only'); END;

-- Places are computed by heed (board.c), which leaves out damaged and impossible trials.
DROP VIEW leaderboard;
