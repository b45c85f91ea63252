"""`ksql-migrations`: files of statements with versions, applied to a SQL server in order."""
