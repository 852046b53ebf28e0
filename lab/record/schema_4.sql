-- schema_4.sql - changes of version 4 of the leaderboard: every row that heed adds is a link of one chain, so that a
-- row that was put in, taken out, changed or moved by another program is found

-- The links, in the order in which rows were added, from 1 without a gap. The rows of a trial, such
-- as samples and gates, are part of the trial's link. heed makes the links of an older file when it
-- brings it up to date; those of trials then take over what the table `seal` had, which goes.
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

-- Places are given by heed (board.c), which leaves out what is not as it was added, and what cannot be.
DROP VIEW leaderboard;
