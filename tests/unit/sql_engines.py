# SPDX-License-Identifier: GPL-2.0-or-later
"""sql_engines.py - DuckDB, ClickHouse and Spark behind one interface: statements, and rows as dictionaries."""
import json


def statements(text):
    """The statements of a script whose comments are whole lines."""
    lines = [line for line in text.split("\n") if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";\n") if statement.strip()]


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
        text = self.session.query(query.rstrip().rstrip(";"), "JSONEachRow").bytes().decode()
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
        return [row.asDict() for row in self.session.sql(query.rstrip().rstrip(";").replace('"', "`")).collect()]


ENGINES = {"duckdb": DuckDB, "clickhouse": ClickHouse, "spark": Spark}
