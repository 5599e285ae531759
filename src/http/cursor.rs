//! Lists, newest first, paged by an opaque cursor: `?limit=` (at most 100) and `?before=<cursor>`.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::Problem;

/// What a list is asked for.
#[derive(Debug, Clone, Deserialize, Default)]
struct Asked {
    limit: Option<String>,
    before: Option<String>,
}

/// A page's bounds: `limit` rows older than the row `before`.
#[derive(Debug, Clone, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// 1 to 100; 50 unless asked.
    #[param(required = false, minimum = 1, maximum = 100)]
    pub limit: i64,
    /// The cursor of the page before: the last row's key.
    pub before: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::<Asked>::try_from_uri(&parts.uri)
            .map_err(|error| Problem::invalid_field("query", error.to_string()))?;
        let limit = match asked.limit {
            None => 50,
            Some(text) => match text.parse::<i64>() {
                Ok(limit @ 1..=100) => limit,
                _ => return Err(Problem::invalid_field("limit", "limit is a number from 1 to 100.")),
            },
        };
        let before = match asked.before {
            // Cursors are ids of ours; whatever else this is, it does not reach the database.
            Some(text) if text.len() > 128 || !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                return Err(Problem::invalid_field("before", "before is the \"next\" of the page before."));
            }
            before => before,
        };
        Ok(Self { limit, before })
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
