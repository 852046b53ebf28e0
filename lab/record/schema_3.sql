-- schema_3.sql - additions of version 3 of the leaderboard to schema.sql and schema_2.sql: the tools and libraries
-- that trials were made with

-- A manifest, as `heed doctor --lock` writes it: `text` has its parts, as JSON in one line with sorted names, so the
-- hash of the manifest is that of the text.
CREATE TABLE manifest (
    sha256 TEXT PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The manifest of an environment. It need not be on the board: a record may have come without it.
CREATE TABLE made_with (
    environment INTEGER PRIMARY KEY REFERENCES environment,
    manifest    TEXT NOT NULL
) STRICT;

CREATE TRIGGER manifest_keep  BEFORE UPDATE ON manifest  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER manifest_stay  BEFORE DELETE ON manifest  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER made_with_keep BEFORE UPDATE ON made_with BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER made_with_stay BEFORE DELETE ON made_with BEGIN SELECT RAISE(ABORT, 'append-only'); END;
