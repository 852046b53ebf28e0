-- schema_2.sql - additions of version 2 of the leaderboard to schema.sql: all that is needed to rebuild and
-- launch the code of a trial after heed's code has changed

-- The sources of a libheed. `build` is as in environment, so that a trial's environment names its library.
CREATE TABLE library (
    id     INTEGER PRIMARY KEY,
    build  TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL -- of all its files, with their paths
) STRICT;

CREATE TABLE library_file (
    library INTEGER NOT NULL REFERENCES library,
    path    TEXT NOT NULL, -- from the root of the source tree
    source  INTEGER NOT NULL REFERENCES source,
    PRIMARY KEY (library, path)
) STRICT, WITHOUT ROWID;

-- How the device code of a trial is compiled and launched, as text such as threads=128. A CPU kernel has no row.
CREATE TABLE launch (
    trial INTEGER PRIMARY KEY REFERENCES trial,
    words TEXT NOT NULL
) STRICT;

CREATE TRIGGER library_keep      BEFORE UPDATE ON library      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER library_stay      BEFORE DELETE ON library      BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER library_file_keep BEFORE UPDATE ON library_file BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER library_file_stay BEFORE DELETE ON library_file BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER launch_keep       BEFORE UPDATE ON launch       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER launch_stay       BEFORE DELETE ON launch       BEGIN SELECT RAISE(ABORT, 'append-only'); END;
