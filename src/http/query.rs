//! Queries: every parameter is known, given once, and fits, or it is refused by name.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::body::Nothing;
use super::{Paging, Problem};
use crate::fields;

/// A query's parameters. All of them are text; the type denies unknown ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(fields::read(Value::Object(query(parts)?))?))
    }
}

/// What a list is asked for: which rows, and which page of them.
#[derive(Debug, Clone)]
pub struct Listed<T>(pub T, pub Paging);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Listed<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut query = query(parts)?;
        let paging = Paging::take_from(&mut query)?;
        Ok(Self(fields::read(Value::Object(query))?, paging))
    }
}

/// A list that can be asked for its pages alone.
impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Listed(Nothing {}, paging) = Listed::<Nothing>::from_request_parts(parts, state).await?;
        Ok(paging)
    }
}

fn query(parts: &Parts) -> Result<Map<String, Value>, Problem> {
    let read = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(pairs) = read.map_err(|error| Problem::invalid_field("query", error.to_string()))?;
    let mut query = Map::new();
    for (name, value) in pairs {
        if query.contains_key(&name) {
            return Err(Problem::invalid_field(&name, format!("The parameter {name:?} is given twice.")));
        }
        query.insert(name, value.into());
    }
    Ok(query)
}
