//! New checks and changes as they are read, and what is refused by name.

use serde_json::json;

use super::*;

const NOW: Millis = Millis(1_790_000_000_000);

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    let Value::Object(object) = value else { panic!("not an object") };
    from_object(object)
}

#[test]
fn a_field_at_fault_is_named() {
    let refused = |value: Value| read::<CheckSpec>(value).unwrap_err();
    let unknown = refused(json!({"name": "a", "period_seconds": 300, "interval": 5}));
    assert_eq!((unknown.code.as_str(), unknown.field.as_deref()), ("unknown_field", Some("interval")));
    let missing = refused(json!({"period_seconds": 300}));
    assert_eq!((missing.code.as_str(), missing.field.as_deref()), ("invalid_field", Some("name")));
    let short = refused(json!({"name": "a", "period_seconds": 5}));
    assert_eq!(short.field.as_deref(), Some("period_seconds"));
    assert_eq!(short.message, "The field \"period_seconds\": from 60 to 31536000 seconds (365 days); this is 5.");
    assert_eq!(refused(json!({"name": "a", "period_seconds": "300"})).field.as_deref(), Some("period_seconds"));
    assert_eq!(refused(json!({"name": "\u{202e}", "period_seconds": 300})).field.as_deref(), Some("name"));
}

#[test]
fn a_check_has_one_schedule() {
    let settled = |value: Value| read::<CheckSpec>(value).and_then(|spec| spec.settle(NOW));
    let field = |value: Value| settled(value).unwrap_err().field.unwrap();
    assert_eq!(field(json!({"name": "a"})), "period_seconds");
    assert_eq!(field(json!({"name": "a", "period_seconds": 300, "cron": "@daily"})), "cron");
    assert_eq!(field(json!({"name": "a", "period_seconds": 300, "timezone": "UTC"})), "timezone");
    assert_eq!(field(json!({"name": "a", "cron": "0 9 * * 8"})), "cron");
    assert_eq!(field(json!({"name": "a", "cron": "0 0 9 * * *"})), "cron", "six fields");
    assert_eq!(field(json!({"name": "a", "cron": "0 0 30 2 *"})), "cron", "never runs");
    assert_eq!(field(json!({"name": "a", "cron": "@daily", "timezone": "Europe/Atlantis"})), "timezone");
    let utc = settled(json!({"name": "a", "cron": " 0  9 * * 1-5 "})).unwrap();
    assert_eq!((utc.schedule().unwrap().cron(), utc.schedule().unwrap().zone()), (Some("0 9 * * 1-5"), Some("UTC")));
    assert_eq!(utc.grace_seconds.get(), 3_600);
    assert_eq!(settled(json!({"name": "a", "cron": "*/10 * * * *"})).unwrap().grace_seconds.get(), 600);
    // What is stored with an action is read back as it was.
    assert_eq!(serde_json::from_value::<Settings>(serde_json::to_value(&utc).unwrap()).unwrap(), utc);
}

#[test]
fn left_out_null_and_a_number_are_three_wishes() {
    let max_runtime = |value: Value| read::<CheckChanges>(value).unwrap().max_runtime_seconds;
    assert_eq!(max_runtime(json!({})), None);
    assert_eq!(max_runtime(json!({"max_runtime_seconds": null})), Some(None));
    assert_eq!(max_runtime(json!({"max_runtime_seconds": 90})), Some(Some(Seconds::try_from(90).unwrap())));
    for field in ["name", "tags", "description", "grace_seconds"] {
        let refusal = read::<CheckChanges>(json!({field: null})).unwrap_err();
        assert_eq!((refusal.code.as_str(), refusal.field.as_deref()), ("invalid_field", Some(field)));
    }
    for value in [json!({}), json!({"max_runtime_seconds": null}), json!({"name": "b", "max_runtime_seconds": 90})] {
        let changes: CheckChanges = read(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(changes).unwrap(), value);
    }
}
