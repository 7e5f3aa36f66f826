# SPDX-License-Identifier: GPL-2.0-or-later
"""engines.py - DuckDB, ClickHouse and Spark behind one interface: statements, and rows as dictionaries.

usage: engines.py ENGINE
       engines.py ENGINE DDL QUERY

Without files: prints what stands for that engine; fails, and says what is missing, if nothing does. With files: runs the
statements of DDL, which `sqtrace-dump --ddl=ENGINE` has printed, then QUERY, and prints its rows as TSV with a header.

A Python package stands for an engine, or its own program. Spark needs the package pyspark, and Java.
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile


class Failed(Exception):
    """What an engine says of a statement that it did not take."""


def statements(text):
    """The statements of a script whose comments are whole lines."""
    lines = [line for line in text.split("\n") if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";\n") if statement.strip()]


def without_end(query):
    return query.rstrip().rstrip(";")


class DuckDB:
    def __init__(self):
        import duckdb
        self.connection = duckdb.connect()

    def quoted(self, name):
        return '"%s"' % name

    def run(self, statement):
        self.connection.execute(statement)

    def rows(self, query):
        result = self.connection.execute(query)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row)) for row in result.fetchall()]


class ClickHouse:
    def __init__(self):
        from chdb import session
        self.session = session.Session()

    def quoted(self, name):
        return '"%s"' % name

    def run(self, statement):
        self.session.query(statement)

    def rows(self, query):
        text = self.session.query(without_end(query), "JSONEachRow").bytes().decode()
        return [json.loads(line) for line in text.split("\n") if line]


class Spark:
    session = None

    def __init__(self):
        from pyspark.sql import SparkSession
        Spark.session = (Spark.session.newSession() if Spark.session else
                         SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                         .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
                         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
                         .getOrCreate())
        self.session = Spark.session

    def quoted(self, name):
        return "`%s`" % name

    def run(self, statement):
        self.session.sql(statement)

    def rows(self, query):
        return [row.asDict() for row in self.session.sql(without_end(query).replace('"', "`")).collect()]


class Program:
    """An engine's own program: it keeps its views in a folder, and prints rows as JSON."""

    def __init__(self, words, as_json):
        self.place = tempfile.TemporaryDirectory(prefix="sqtrace-engine.")
        self.words = [word.replace("PLACE", self.place.name) for word in words]
        self.as_json = as_json
        self.script = []

    def quoted(self, name):
        return '"%s"' % name

    def ask(self, text, *more):
        done = subprocess.run(self.words + list(more), input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise Failed(done.stderr.decode(errors="replace").strip() or "ended with status %d" % done.returncode)
        return done.stdout.decode()

    def run(self, statement):
        """Goes with all others when rows are wanted: a program takes a second to start."""
        self.script.append(statement + ";\n")

    def rows(self, query):
        if self.script:
            self.ask("".join(self.script))
            self.script = []
        text = self.ask(without_end(query) + ";\n", *self.as_json)
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.split("\n") if line]


PROGRAMS = {  # name: (program, its arguments, more of them for JSON)
    "duckdb": ("duckdb", ["PLACE/fleet.db"], ["-json"]),
    "clickhouse": ("clickhouse", ["local", "--path=PLACE", "--multiquery"], ["--output-format=JSONEachRow"]),
}
PACKAGES = {"duckdb": "duckdb", "clickhouse": "chdb", "spark": "pyspark"}
ENGINES = {"duckdb": DuckDB, "clickhouse": ClickHouse, "spark": Spark}


def found(engine):
    """(what stands for it, None), or (None, what is missing)."""
    package, program = PACKAGES[engine], PROGRAMS.get(engine, (None,))[0]
    if program and shutil.which(program):
        return "program " + shutil.which(program), None
    if importlib.util.find_spec(package) is None:
        return None, "%s has no package %s%s" % (sys.executable, package, " and there is no program " + program if program else "")
    if engine == "spark" and not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        return None, "Java is missing: apt-get install default-jre-headless"
    return "package " + package, None


def opened(engine):
    if not found(engine)[0].startswith("program "):
        return ENGINES[engine]()
    program, words, as_json = PROGRAMS[engine]
    return Program([shutil.which(program), *words], as_json)


def as_tsv(rows):
    """Missing values are -, as in TSV of sqtrace-dump."""
    lines = [rows[0].keys()] if rows else []
    for row in rows:
        lines.append("-" if cell is None else "%.6g" % cell if isinstance(cell, float) else str(cell)
                     for cell in row.values())
    return "".join("\t".join(line) + "\n" for line in lines)


def main(engine, *files):
    if engine not in ENGINES or len(files) not in (0, 2):
        sys.exit("usage: engines.py duckdb|clickhouse|spark [DDL QUERY]")
    what, missing = found(engine)
    if missing:
        sys.exit("%s: %s" % (engine, missing))
    if not files:
        print(what)
        return
    ddl, query = (open(file, encoding="utf-8").read() for file in files)
    with tempfile.TemporaryDirectory(prefix="sqtrace-engines.") as scratch:
        os.chdir(scratch)  # Spark makes a folder where it runs
        try:
            session = opened(engine)
            for statement in statements(ddl):
                session.run(statement)
            rows = session.rows(query)
        except Exception as error:  # each engine has errors of its own
            sys.exit("%s: %s" % (engine, " ".join(str(error).split())[:500]))
        finally:
            os.chdir("/")
    sys.stdout.write(as_tsv(rows))


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
