//! A value against a schema of the contract: the part of JSON Schema that the contract uses, and no word more.

use serde_json::Value;

/// What of `value` does not fit `schema`, each with its place.
pub fn misfits(contract: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    Checker { contract, strict: false }.check(schema, value, "", &mut wrong);
    wrong
}

/// [`misfits`] of an answer, which may have no member that its schema does not name, and null only where the member is
/// always there.
pub fn misfits_of_answer(contract: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    Checker { contract, strict: true }.check(schema, value, "", &mut wrong);
    wrong
}

struct Checker<'a> {
    contract: &'a Value,
    strict: bool,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        for (word, rule) in schema.as_object().expect("a schema") {
            let fits = match word.as_str() {
                "$ref" => {
                    let named = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    self.check(self.contract.pointer(named).expect("it is there"), value, at, wrong);
                    true
                }
                "type" => match rule {
                    Value::Array(types) => types.iter().any(|name| is_of_type(value, name.as_str().unwrap())),
                    name => is_of_type(value, name.as_str().unwrap()),
                },
                "enum" => rule.as_array().unwrap().contains(value),
                "oneOf" => {
                    let fitting = rule.as_array().unwrap().iter().filter(|one| self.fits(one, value));
                    fitting.count() == 1
                }
                "allOf" => {
                    rule.as_array().unwrap().iter().for_each(|part| self.loosely().check(part, value, at, wrong));
                    true
                }
                "required" => rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.is_object() && value.get(name.as_str().unwrap()).is_some()),
                "properties" => {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        let at = format!("{at}/{name}");
                        match rule.get(name) {
                            Some(schema) => self.check(schema, member, &at, wrong),
                            None if self.strict => wrong.push(format!("{at} is not in the contract")),
                            None => {}
                        }
                        let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
                        if self.strict && member.is_null() && !required {
                            wrong.push(format!("{at} is null and may be left out"));
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    assert_eq!(rule, false, "a rule that nobody checks");
                    let known = &schema["properties"];
                    value.as_object().into_iter().flatten().all(|(name, _)| known.get(name).is_some())
                }
                "items" => {
                    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}/{n}"), wrong);
                    }
                    true
                }
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
                "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap()),
                "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
                // Words about words.
                "description" | "format" => true,
                other => panic!("{other} is a rule that nobody checks"),
            };
            if !fits {
                wrong.push(format!("{at}: {value} against {word} {rule}"));
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut wrong = Vec::new();
        self.check(schema, value, "", &mut wrong);
        wrong.is_empty()
    }

    /// A part of a whole does not know the others' members.
    fn loosely(&self) -> Self {
        Self { contract: self.contract, strict: false }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn a_misfit_is_found() {
    use serde_json::json;

    let contract = json!({"components": {"N": {"type": "integer", "minimum": 1, "maximum": 3}}});
    let schema = json!({"type": "object", "required": ["n"], "additionalProperties": false, "properties": {
        "n": {"$ref": "#/components/N"}, "word": {"type": ["string", "null"], "maxLength": 2},
        "either": {"oneOf": [{"$ref": "#/components/N"}, {"type": "null"}]},
        "list": {"type": "array", "maxItems": 1, "items": {"enum": ["a", "b"]}}}});
    let number = |value: Value| misfits(&contract, &schema, &value).len();
    assert_eq!(number(json!({"n": 1, "word": null, "either": null, "list": ["a"]})), 0);
    for wrong in [
        json!({}),
        json!([]),
        json!({"n": 0}),
        json!({"n": 4}),
        json!({"n": "1"}),
        json!({"n": 1, "m": 1}),
        json!({"n": 1, "word": "abc"}),
        json!({"n": 1, "either": 9}),
        json!({"n": 1, "list": ["c"]}),
        json!({"n": 1, "list": ["a", "b"]}),
    ] {
        assert!(number(wrong.clone()) > 0, "{wrong}");
    }
    let loose = json!({"n": 1, "word": null});
    assert_eq!(misfits_of_answer(&contract, &schema, &loose), ["/word is null and may be left out"]);
}
