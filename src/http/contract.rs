//! The contract as it is served: what is the same for many routes is said here once, and no single handler says it.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

const METHODS: [&str; 5] = ["get", "head", "post", "patch", "delete"];

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callers {
    /// Signed-in users alone.
    Users,
    /// Users, and visitors with a session or without one yet.
    Anyone,
    /// Nobody is asked who they are.
    Open,
}

impl Callers {
    fn of(path: &str) -> Self {
        match path {
            "/api/session" | "/api/chats" => Self::Anyone,
            _ if path.starts_with("/api/chat") => Self::Anyone,
            _ if path.starts_with("/api/") => Self::Users,
            _ => Self::Open,
        }
    }

    fn security(self) -> Value {
        match self {
            Self::Users => json!([{"token": []}, {"session": []}]),
            Self::Anyone => json!([{"token": []}, {"session": []}, {"visitor": []}, {}]),
            Self::Open => json!([]),
        }
    }
}

/// The document: `api` with its security schemes, the problems that any route can answer with, and bodies in one piece.
pub fn document(api: &OpenApi) -> String {
    let mut contract = serde_json::to_value(api).unwrap_or_default();
    if let Some(info) = contract["info"].as_object_mut() {
        // An empty license is none.
        info.shift_remove("license");
    }
    if let Some(schemas) = contract["components"]["schemas"].as_object_mut() {
        schemas.values_mut().for_each(fold);
        schemas.insert("Problem".to_owned(), problem());
    }
    contract["components"]["securitySchemes"] = security_schemes();
    let schemas = contract["components"]["schemas"].clone();
    let paths = contract["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method) {
                complete(path, method, operation, &schemas);
            }
        }
    }
    contract.to_string()
}

/// Parts that were flattened into one object become one object: parts that are closed would each refuse the others'
/// members.
fn fold(schema: &mut Value) {
    let Some(parts) = schema["allOf"].as_array() else { return };
    if parts.iter().any(|part| !part["properties"].is_object()) {
        return;
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    let is_closed = parts.iter().any(|part| part["additionalProperties"] == false);
    let mut whole = json!({"type": "object", "description": schema["description"], "properties": properties});
    if !required.is_empty() {
        whole["required"] = required.into();
    }
    if is_closed {
        whole["additionalProperties"] = false.into();
    }
    *schema = whole;
}

fn complete(path: &str, method: &str, operation: &mut Value, schemas: &Value) {
    operation["security"] = Callers::of(path).security();
    if let Some(schema) = operation.pointer_mut("/requestBody/content/application~1json/schema") {
        // A body may be left out, but where there is one it is no null.
        let there = schema["oneOf"].as_array().and_then(|either| either.iter().find(|one| one["type"] != "null"));
        if let Some(there) = there.cloned() {
            *schema = there;
        }
    }
    let problems = problems_of(path, method, operation);
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (status, description) in problems {
        let response = responses.entry(status).or_insert_with(|| json!({}));
        response["description"] = match response["description"].as_str() {
            Some(own) if !own.is_empty() => format!("{own}; {description}").into(),
            _ => description.into(),
        };
    }
    responses.sort_keys();
    for (status, response) in responses.iter_mut() {
        if status.as_str() >= "400" {
            let schema = json!({"$ref": "#/components/schemas/Problem"});
            response["content"] = json!({"application/problem+json": {"schema": schema}});
        } else if response["description"].as_str().is_none_or(str::is_empty) {
            response["description"] = described(response, schemas);
        }
        if matches!(status.as_str(), "429" | "503") {
            response["headers"]["Retry-After"] = json!({"required": true, "description": "Whole seconds, at least 1.",
                "schema": {"type": "integer", "minimum": 1}});
        }
    }
}

/// What its answer is, in the words of the answer's schema.
fn described(response: &Value, schemas: &Value) -> Value {
    let reference = response["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
    let name = reference.rsplit('/').next().unwrap_or_default();
    schemas[name]["description"].clone()
}

/// The refusals that layers and extractors make, whatever the handler does.
fn problems_of(path: &str, method: &str, operation: &Value) -> Vec<(&'static str, &'static str)> {
    let is_ping = path.starts_with("/ping/");
    let has_json = operation["requestBody"]["content"]["application/json"].is_object();
    let takes_query = operation["parameters"].as_array().into_iter().flatten().any(|taken| taken["in"] == "query");
    let writes = !matches!(method, "get" | "head");
    let reads_path = ["/api/chat/", "/sign-in/"].iter().any(|start| path.starts_with(start));
    let said = [
        (reads_path, "400", "`bad_request`: the address cannot be read"),
        (has_json, "400", "`invalid_json`, or `invalid_body`: it broke off"),
        (Callers::of(path) != Callers::Open, "401", "`unauthorized`: no credential, or a wrong one"),
        (writes && !is_ping, "403", "`forbidden_origin`: a page of another site may not do this"),
        (has_json || (writes && is_ping), "408", "`request_timeout`: the body did not arrive"),
        (has_json, "413", "`payload_too_large`: more than 64 KiB"),
        (has_json, "415", "`unsupported_media_type`: send application/json"),
        (has_json || (takes_query && !is_ping), "422", "`invalid_field` or `unknown_field`, with `field`"),
        (true, "429", "`abnormal_usage`: too many requests from one network"),
        (true, "500", "`internal`"),
        (path != "/healthz", "503", "`temporarily_unavailable`"),
    ];
    said.into_iter().filter(|(can, _, _)| *can).map(|(_, status, what)| (status, what)).collect()
}

fn security_schemes() -> Value {
    json!({
        "token": {"type": "http", "scheme": "bearer", "description": "An API token, or the host's own for its user."},
        "session": {"type": "apiKey", "in": "cookie", "name": "flatline_session",
            "description": "A browser that signed in; writes come from our own pages."},
        "visitor": {"type": "apiKey", "in": "header", "name": "Flatline-Session",
            "description": "A visitor's session, as `POST /api/session` hands it out."},
    })
}

/// As [`Problem::render`](super::Problem::render) writes it.
fn problem() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let seconds = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    json!({
        "type": "object",
        "description": "What went wrong, as RFC 9457 has it.",
        "required": ["type", "title", "status", "code", "detail", "request_id"],
        "properties": {
            "type": text("`about:blank`, or the registered type."),
            "title": text("The status in words."),
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "code": text("Stable, for programs."),
            "detail": text("A sentence for people."),
            "request_id": text("Also in the header `x-request-id`."),
            "field": text("The member or parameter at fault."),
            "retry_after_seconds": seconds("How long to wait; the same as the header `Retry-After`."),
            "min_interval_seconds": seconds("Of `ping_too_soon`: one ping of a kind is accepted in so long."),
            "last_accepted_at": {"type": "string", "format": "date-time", "description": "Of `ping_too_soon`."},
            "violated-policies": {"type": "array", "items": {"type": "string"}, "description": "Of `quota_exceeded`."},
        },
    })
}
