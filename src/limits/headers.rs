//! How standings are written in the `RateLimit` and `RateLimit-Policy` header fields (http-api.md).

use super::Standing;

/// `"user-10min";q=20;w=600` for each.
pub fn rate_limit_policy(standings: &[Standing]) -> String {
    let policy = |s: &Standing| format!("\"{}\";q={};w={}", s.policy.name, s.policy.limit, s.policy.window.as_secs());
    standings.iter().map(policy).collect::<Vec<_>>().join(", ")
}

/// `"user-10min";a=0;w=37;r=0;t=37` for each: left now (`a`, `r`), seconds until the next one passes (`w`) and until
/// more are left (`t`).
pub fn rate_limit(standings: &[Standing]) -> String {
    let state = |s: &Standing| {
        let (wait, reset) = (s.wait.as_millis().div_ceil(1000), s.reset.as_millis().div_ceil(1000));
        format!("\"{}\";a={};w={wait};r={};t={reset}", s.policy.name, s.remaining, s.remaining)
    };
    standings.iter().map(state).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Policy;
    use std::time::Duration;

    #[test]
    fn as_the_contract_shows_them() {
        let policy = Policy::named("user", 20, Duration::from_mins(10));
        let wait = Duration::from_millis(36_001);
        let full = [Standing { policy, remaining: 0, wait, reset: wait }];
        assert_eq!(rate_limit_policy(&full), "\"user-10min\";q=20;w=600");
        assert_eq!(rate_limit(&full), "\"user-10min\";a=0;w=37;r=0;t=37");
    }
}
