//! The migrations of both databases: the same numbers and names, and the same tables, columns and indexes when applied.

use std::collections::BTreeMap;

use flatline::db::{Db, On};

use crate::database::{Kind, fresh, postgres_is_skipped};

/// The file names in a migrations folder, in order.
fn files(database: &str) -> Vec<String> {
    let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A column: its table and name, whether it may be NULL, whether it is in the primary key. Not its place: a column that
/// was made anew stands last in one database only, and every statement names its columns.
type Column = (String, String, bool, bool);

/// Each column with its type.
async fn columns(db: &Db) -> BTreeMap<Column, String> {
    let rows: Vec<(String, String, bool, bool, String)> = match db.read() {
        On::Sqlite(pool) => {
            let sql = r#"SELECT t.name, c.name, c."notnull" = 0 AND c.pk = 0, c.pk > 0, lower(c.type)
                FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> '_sqlx_migrations'"#;
            sqlx::query_as(sql).fetch_all(pool).await.unwrap()
        }
        On::Postgres(pool) => {
            let sql = "SELECT CAST(c.relname AS text), CAST(a.attname AS text), NOT a.attnotnull, a.attnum = ANY (coalesce(p.conkey, '{}')), format_type(a.atttypid, a.atttypmod)
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                LEFT JOIN pg_constraint p ON p.conrelid = c.oid AND p.contype = 'p'
                WHERE c.relnamespace = CAST('public' AS regnamespace) AND c.relkind = 'r'
                    AND c.relname <> '_sqlx_migrations'";
            sqlx::query_as(sql).fetch_all(pool).await.unwrap()
        }
    };
    rows.into_iter().map(|(table, name, null, key, kind)| ((table, name, null, key), kind)).collect()
}

/// The names of the indexes that are not a constraint's, each with its table and whether it is unique.
async fn indexes(db: &Db) -> Vec<(String, String, bool)> {
    match db.read() {
        On::Sqlite(pool) => {
            let sql = r#"SELECT t.name, i.name, i."unique" = 1 FROM sqlite_schema t JOIN pragma_index_list(t.name) i
                WHERE t.type = 'table' AND i.origin = 'c' ORDER BY i.name"#;
            sqlx::query_as(sql).fetch_all(pool).await.unwrap()
        }
        On::Postgres(pool) => {
            let sql = r#"SELECT CAST(t.relname AS text), CAST(c.relname AS text), i.indisunique
                FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
                WHERE t.relnamespace = CAST('public' AS regnamespace)
                    AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)
                ORDER BY CAST(c.relname AS text) COLLATE "C""#;
            sqlx::query_as(sql).fetch_all(pool).await.unwrap()
        }
    }
}

/// What may stand for one and the same thing in SQLite and PostgreSQL.
fn are_the_same(sqlite: &str, postgres: &str) -> bool {
    matches!(
        (sqlite, postgres),
        ("text", "text" | "jsonb" | "bigint[]") | ("integer", "bigint" | "integer" | "boolean") | ("blob", "bytea")
    )
}

#[test]
fn both_databases_have_the_same_numbers_and_names() {
    let names = files("sqlite");
    assert_eq!(names, files("postgres"));
    for (index, name) in names.iter().enumerate() {
        let number = format!("{:04}_", index + 1);
        assert!(name.starts_with(&number) && name.strip_suffix(".sql").is_some(), "{name} is not {number}….sql");
    }
}

#[tokio::test]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    if postgres_is_skipped() {
        return;
    }
    let (sqlite, postgres) = (fresh(Kind::Sqlite).await, fresh(Kind::Postgres).await);
    let (in_sqlite, in_postgres) = (columns(&sqlite.db).await, columns(&postgres.db).await);
    assert!(in_sqlite.len() > 50, "the tables are looked at");
    let only = |in_one: &BTreeMap<Column, String>, in_other: &BTreeMap<Column, String>| {
        in_one.keys().filter(|column| !in_other.contains_key(column)).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(&in_sqlite, &in_postgres), only(&in_postgres, &in_sqlite)), (Vec::new(), Vec::new()));
    for ((column, sqlite), postgres) in in_sqlite.iter().zip(in_postgres.values()) {
        assert!(are_the_same(sqlite, postgres), "{column:?}: {sqlite} and {postgres}");
    }
    assert_eq!(indexes(&sqlite.db).await, indexes(&postgres.db).await);
}

on_both! {
    async fn they_apply_once_and_the_program_finds_its_schema(kind) {
        let fresh = fresh(kind).await;
        let before = columns(&fresh.db).await;
        fresh.db.migrate().await.unwrap();
        assert_eq!(columns(&fresh.db).await, before);
        fresh.db.check_ready().await.unwrap();
        let sql = "SELECT count(*) FROM _sqlx_migrations WHERE success";
        let applied: i64 = flatline::on_db!(fresh.db.read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap();
        assert_eq!(usize::try_from(applied).unwrap(), files("sqlite").len());
    }
}
