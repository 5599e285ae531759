//! The page, the embeddable chat and the loader for other sites: plain files, compiled in, sent under a strict policy.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// A file of this folder as it is sent.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    text: &'static str,
    /// Names the content: a browser that has it asks again and gets a short 304.
    etag: String,
}

/// A name and the file of that name: written once, so that they cannot differ.
macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        vec![$(Asset::new($name, include_str!($name))),+]
    };
}

/// What `/assets/{file}` may answer; nothing is looked up on a disk.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    assets![
        "page.js",
        "embed.js",
        "sign_in.js",
        "action_card.js",
        "actions.js",
        "api.js",
        "bars.js",
        "blocks.js",
        "channel_form.js",
        "channel_row.js",
        "channels.js",
        "chat.js",
        "check_detail.js",
        "check_facts.js",
        "check_row.js",
        "check_words.js",
        "checks.js",
        "composer.js",
        "dom.js",
        "field.js",
        "history_items.js",
        "history_list.js",
        "inline.js",
        "log.js",
        "message.js",
        "message_view.js",
        "pause_menu.js",
        "render.js",
        "session.js",
        "snippets.js",
        "stream.js",
        "tabs.js",
        "time.js",
        "turn.js",
        "uptimes.js",
        "answer.css",
        "bars.css",
        "base.css",
        "card.css",
        "channels.css",
        "chat.css",
        "checks.css",
        "detail.css",
        "page.css",
        "icon.svg",
    ]
});

static LOADER: LazyLock<Asset> = LazyLock::new(|| Asset::new("loader.js", include_str!("loader.js")));

/// `/`, `/embed`, `/widget.js` and `/assets/{file}`. `frame_ancestors` are the origins whose pages may frame `/embed`
/// (none: nobody may); the page itself is never framed.
pub fn routes<S: Clone + Send + Sync + 'static>(frame_ancestors: &[String]) -> Router<S> {
    let embed_policy = content_security_policy(frame_ancestors);
    Router::new()
        .route("/", get(|| async { page(StatusCode::OK, include_str!("page.html"), content_security_policy(&[])) }))
        .route("/embed", get(move || async move { page(StatusCode::OK, include_str!("embed.html"), embed_policy) }))
        .route("/widget.js", get(|headers: HeaderMap| async move { LOADER.answer(&headers) }))
        .route("/assets/{file}", get(asset))
}

/// What `GET /sign-in/{token}` shows: a form that posts to the page's own address, at once where scripts run.
pub fn sign_in_page() -> impl IntoResponse {
    page(StatusCode::OK, include_str!("sign_in.html"), content_security_policy(&[]))
}

/// What a person sees whose sign-in link was used before or is too old: 410, and how to get another.
pub fn sign_in_used_page() -> impl IntoResponse {
    page(StatusCode::GONE, include_str!("sign_in_used.html"), content_security_policy(&[]))
}

async fn asset(Path(file): Path<String>, headers: HeaderMap) -> Response {
    match ASSETS.iter().find(|asset| asset.name == file) {
        Some(asset) => asset.answer(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Asset {
    fn new(name: &'static str, text: &'static str) -> Self {
        let content_type = match name.rsplit_once('.') {
            Some((_, "js")) => SCRIPT,
            Some((_, "css")) => STYLE,
            _ => PICTURE,
        };
        let mut etag = String::from("\"");
        for byte in &Sha256::digest(text)[..12] {
            let _ = write!(etag, "{byte:02x}");
        }
        etag.push('"');
        Self { name, content_type, text, etag }
    }

    /// `no-cache`: kept, but asked for again each time, so that after an update no old module meets a new one.
    fn answer(&self, request: &HeaderMap) -> Response {
        let headers = [
            (CONTENT_TYPE, self.content_type),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, "no-cache"),
            (ETAG, self.etag.as_str()),
        ];
        let known = request.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        if known.is_some_and(|tags| tags.contains(&self.etag)) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        (headers, self.text).into_response()
    }
}

fn page(status: StatusCode, html: &'static str, policy: String) -> Response {
    let headers = [
        (CONTENT_TYPE, HTML.to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        // Not `no-referrer`: forms would then be posted with `Origin: null`, which is refused.
        (REFERRER_POLICY, "same-origin".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (status, headers, html).into_response()
}

/// Scripts, styles and calls from our own origin alone; nothing inline; no sink that makes nodes or code of strings.
fn content_security_policy(frame_ancestors: &[String]) -> String {
    let ancestors = if frame_ancestors.is_empty() { "'none'".to_owned() } else { frame_ancestors.join(" ") };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    async fn send(path: &str, etag: Option<&str>, ancestors: &[&str]) -> Response {
        let ancestors: Vec<String> = ancestors.iter().map(ToString::to_string).collect();
        let mut request = Request::get(path);
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        routes::<()>(&ancestors).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn header<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
    }

    fn pages() -> [&'static str; 4] {
        [
            include_str!("page.html"),
            include_str!("embed.html"),
            include_str!("sign_in.html"),
            include_str!("sign_in_used.html"),
        ]
    }

    #[tokio::test]
    async fn every_page_is_sent_under_the_whole_policy() {
        let answers = [
            (send("/", None, &["https://host.example"]).await, 200, "'none'"),
            (send("/embed", None, &[]).await, 200, "'none'"),
            (
                send("/embed", None, &["https://host.example", "https://b.example:8443"]).await,
                200,
                "https://host.example https://b.example:8443",
            ),
            (sign_in_page().into_response(), 200, "'none'"),
            (sign_in_used_page().into_response(), 410, "'none'"),
        ];
        for (answer, status, ancestors) in answers {
            assert_eq!(answer.status(), status);
            let policy: Vec<_> = header(&answer, "content-security-policy").split("; ").collect();
            assert_eq!(
                policy,
                [
                    "default-src 'none'",
                    "script-src 'self'",
                    "style-src 'self'",
                    "connect-src 'self'",
                    "img-src 'self'",
                    "form-action 'self'",
                    "base-uri 'none'",
                    &format!("frame-ancestors {ancestors}"),
                    "require-trusted-types-for 'script'",
                    "trusted-types 'none'",
                ]
            );
            assert_eq!(header(&answer, "content-type"), HTML);
            assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
            assert_eq!(header(&answer, "referrer-policy"), "same-origin");
            assert_eq!(header(&answer, "cache-control"), "no-store");
        }
    }

    #[tokio::test]
    async fn assets_are_typed_and_revalidated() {
        for asset in ASSETS.iter() {
            let path = format!("/assets/{}", asset.name);
            let first = send(&path, None, &[]).await;
            assert_eq!(
                (first.status(), header(&first, "content-type")),
                (StatusCode::OK, asset.content_type),
                "{path}"
            );
            assert_eq!(header(&first, "x-content-type-options"), "nosniff");
            assert_eq!(header(&first, "cache-control"), "no-cache");
            let etag = header(&first, "etag").to_owned();
            assert_eq!(send(&path, Some(&etag), &[]).await.status(), StatusCode::NOT_MODIFIED, "{path}");
            assert_eq!(send(&path, Some("\"other\""), &[]).await.status(), StatusCode::OK, "{path}");
        }
        assert_eq!(header(&send("/widget.js", None, &[]).await, "content-type"), SCRIPT);
        for missing in ["/assets/loader.js", "/assets/mod.rs", "/assets/..%2fmod.rs", "/assets/"] {
            assert_eq!(send(missing, None, &[]).await.status(), StatusCode::NOT_FOUND, "{missing}");
        }
    }

    #[test]
    fn whatever_a_page_or_module_names_is_compiled_in() {
        let served = |name: &str| ASSETS.iter().any(|asset| asset.name == name);
        let named = |text: &'static str, before: &str, after: char| -> Vec<&'static str> {
            text.match_indices(before).filter_map(|(at, _)| text[at + before.len()..].split(after).next()).collect()
        };
        for html in pages() {
            let files = named(html, "\"/assets/", '"');
            assert!(!files.is_empty());
            for file in files {
                assert!(served(file), "{file}");
            }
        }
        for asset in ASSETS.iter().filter(|asset| asset.content_type == SCRIPT) {
            for file in named(asset.text, "from './", '\'') {
                assert!(served(file), "{}: {file}", asset.name);
            }
        }
    }

    /// The policy would stop these at run time; here they do not even get in.
    #[test]
    fn nothing_is_inline_and_nothing_is_made_of_strings() {
        for html in pages() {
            for tag in html.split("<script").skip(1) {
                assert!(tag.starts_with(" type=\"module\" src=\"/assets/") && tag.contains("\"></script>"), "{tag}");
            }
            for word in ["<style", " style=", " onclick", " onload", "javascript:", "http://", "https://"] {
                assert!(!html.contains(word), "{word}");
            }
        }
        let sinks =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "Fragment("];
        for asset in ASSETS.iter().chain([&*LOADER]).filter(|asset| asset.content_type == SCRIPT) {
            for sink in sinks {
                assert!(!asset.text.contains(sink), "{}: {sink}", asset.name);
            }
        }
    }
}
