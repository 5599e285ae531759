//! Lists, newest first, paged by an opaque cursor: `?limit=` (at most 100) and `?before=<cursor>`.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;
use uuid::Uuid;

use super::Problem;

/// A page's bounds: `limit` rows older than the row that `before` names.
#[derive(Debug, Clone, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// 1 to 100; 50 unless asked.
    #[param(required = false, minimum = 1, maximum = 100)]
    pub limit: i64,
    /// The `next` of the page before.
    #[param(required = false, value_type = String)]
    before: Option<String>,
}

impl Paging {
    /// Takes its parameters out of a query.
    pub(super) fn take_from(query: &mut Map<String, Value>) -> Result<Self, Problem> {
        let limit =
            match query.shift_remove("limit").as_ref().map(|text| text.as_str().and_then(|text| text.parse().ok())) {
                None => 50,
                Some(Some(limit @ 1..=100)) => limit,
                Some(_) => return Err(Problem::invalid_field("limit", "limit is a number from 1 to 100.")),
            };
        let before = query.shift_remove("before").and_then(|text| text.as_str().map(str::to_owned));
        Ok(Self { limit, before })
    }

    /// The id of the row that the page before ended with. Whatever else was sent does not reach the database.
    pub fn before(&self) -> Result<Option<String>, Problem> {
        self.before_as(|cursor| Uuid::try_parse(cursor).ok().map(|id| id.to_string()))
    }

    /// [`Paging::before`] for a list whose cursors are not just ids.
    pub fn before_as<T>(&self, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        let wrong = || Problem::invalid_field("before", "before is the \"next\" of the page before.");
        self.before.as_deref().map(|cursor| parse(cursor).ok_or_else(wrong)).transpose()
    }
}

/// One page: its rows and the cursor of the next, if there are more.
#[derive(Debug, Clone, Serialize)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page of rows that were read with one more than `limit`.
    pub fn cut(mut rows: Vec<T>, limit: i64, key: impl Fn(&T) -> String) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if rows.len() <= limit {
            return Self { rows, next: None };
        }
        rows.truncate(limit);
        let next = rows.last().map(key);
        Self { rows, next }
    }
}
