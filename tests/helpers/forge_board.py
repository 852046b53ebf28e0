"""forge_board.py BOARD FOLDER [LINKS]: forgeries of a board by another program, one file each

Copies BOARD to FOLDER/0.db, FOLDER/1.db, ... and makes one change in each: a column of a row, a deleted row, an added
row, two swapped rows. The triggers that would forbid it are dropped, and created again. FOLDER/list describes the
changes, one line per file. With LINKS the only change is that all links after these are deleted, with their runs and
events, and their numbers are freed for reuse.
"""
import shutil
import sqlite3
import sys

board, folder = sys.argv[1:3]
cases = []


def forge(name, *statements):
    path = f"{folder}/{len(cases)}.db"
    shutil.copy(board, path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA ignore_check_constraints = ON")
    triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for trigger, _ in triggers:
        db.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()
    cases.append(name)


def other(value, kind):
    """Another value for a column of this type."""
    if isinstance(value, bytes):
        return value[8:] + value[:8] if len(set(value[i:i + 8] for i in range(0, len(value), 8))) > 1 else b"\0" * len(value)
    if isinstance(value, str):
        return value + "x"
    if value is None:
        return "x" if kind == "TEXT" else 1
    return value + 1000 if isinstance(value, int) else value * 2


def forge_all():
    db = sqlite3.connect(board)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    for table in tables:
        info = db.execute(f"SELECT name, type, pk FROM pragma_table_info('{table}')").fetchall()
        row = db.execute(f"SELECT * FROM {table}").fetchone()
        assert row, f"{table} is empty: the test's board needs a row of each table"
        keys = [(i, name) for i, (name, _, pk) in enumerate(info) if pk]
        where = " AND ".join(f"{name} IS ?" for _, name in keys)
        key = [row[i] for i, _ in keys]
        for i, (name, kind, _) in enumerate(info):
            forge(f"update {table}.{name}",
                  (f"UPDATE {table} SET {name} = ? WHERE {where}", [other(row[i], kind)] + key))
        forge(f"delete {table}", (f"DELETE FROM {table} WHERE {where}", key))
        forge(f"delete all {table}", f"DELETE FROM {table}")
        # An additional row: with other keys, and other values where these must be unique.
        unique = {name for index in db.execute(f"SELECT name FROM pragma_index_list('{table}') WHERE \"unique\"").fetchall()
                  for name, in db.execute(f"SELECT name FROM pragma_index_info('{index[0]}')")}
        more = [(value + 1000 if isinstance(value, int) else str(value) + "y") if pk or name in unique else value
                for (name, _, pk), value in zip(info, row)]
        marks = ", ".join("?" * len(more))
        if table in ("sample", "gate", "fact", "comparison"):  # of the same trial
            more[0] = row[0]
        if table == "sample":
            more[2:4] = row[2:4]
        forge(f"insert {table}", (f"INSERT INTO {table} VALUES ({marks})", more))

    # The changes that pay: another's promotion, an old figure that counts again, samples of another trial.
    titled, = db.execute("SELECT trial FROM promotion").fetchone()
    slow, = db.execute("SELECT max(id) FROM trial").fetchone()
    forge("a promotion", ("INSERT INTO promotion (trial, over, at, reason) VALUES (?, ?, 'now', 'me')", (slow, titled)))
    forge("the promotion of another", ("UPDATE promotion SET trial = ?", (slow,)))
    forge("no promotion", "DELETE FROM promotion", "DELETE FROM link WHERE kind = 'promotion'")
    forge("a trial that never was", ("DELETE FROM trial WHERE id = ?", (titled,)),
          ("DELETE FROM link WHERE kind = 'trial' AND name = ?", (str(titled),)))
    forge("samples change places", "UPDATE sample SET trial = -trial WHERE trial < 3",
          "UPDATE sample SET trial = 3 + trial WHERE trial < 0")
    forge("trials change places", "UPDATE trial SET id = -id WHERE id < 3", "UPDATE trial SET id = 3 + id WHERE id < 0")
    forge("links change places", "UPDATE link SET id = -id WHERE id IN (5, 6)", "UPDATE link SET id = 11 + id WHERE id < 0")
    forge("a better selftest", "UPDATE selftest SET killed = wrong + 7, wrong = wrong + 7")
    forge("a new selftest", "DELETE FROM selftest",
          "INSERT INTO selftest (id, at, backend, suite, killed, wrong, accepted, honest) VALUES (1, 'x', 'cpu', 'y', 9, 9, 9, 9)")
    forge("a faster time", ("UPDATE trial SET seconds = seconds / 2, p90 = p90 / 2 WHERE id = ?", (slow,)))
    forge("the time of all samples", ("UPDATE sample SET seconds = zeroblob(length(seconds)) WHERE trial = ?", (slow,)))
    forge("the end", "DELETE FROM promotion", "DELETE FROM event WHERE id > 1",
          "DELETE FROM link WHERE id > (SELECT id FROM link WHERE kind = 'promotion') - 1")
    forge("a trigger", "CREATE TRIGGER mine AFTER INSERT ON trial BEGIN INSERT INTO promotion (trial, at, reason) "
          "VALUES (NEW.id, 'now', 'me'); END")
    forge("a view", "DROP VIEW result", "CREATE VIEW result AS SELECT 1")


if len(sys.argv) > 3:
    forge("the end", f"DELETE FROM link WHERE id > {sys.argv[3]}",
          "DELETE FROM event WHERE CAST(id AS TEXT) NOT IN (SELECT name FROM link WHERE kind = 'event')",
          "DELETE FROM run WHERE CAST(id AS TEXT) NOT IN (SELECT name FROM link WHERE kind = 'run')",
          f"UPDATE sqlite_sequence SET seq = {sys.argv[3]}")
else:
    forge_all()
with open(f"{folder}/list", "w") as f:
    f.write("\n".join(cases) + "\n")
