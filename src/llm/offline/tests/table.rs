//! The table of what the assistant is for: each of its reads and proposals in plain phrases.

use super::{TOOLS, user};

const TABLE: &[(&str, &[&str])] = &[
    (
        "list_checks",
        &[
            "what is down?",
            "what is late?",
            "what's new?",
            "what is paused?",
            "what was rejected by the floor?",
            "which checks ping too often?",
            "list checks tagged prod",
            "how are my checks doing?",
            "who was told?",
            "was anyone alerted?",
            "which checks have never pinged?",
            "anything wrong?",
            "list prod checks",
        ],
    ),
    (
        "get_check",
        &[
            "why is nightly down?",
            "why is nightly late?",
            "why is nightly paused?",
            "what happened to nightly?",
            "who was told about nightly?",
            "was anyone alerted about nightly?",
            "which channels does nightly have?",
            "when is the next run of nightly?",
            "when is the next ping of nightly expected?",
            "when is nightly due?",
            "how is nightly?",
            "last pings of nightly",
            "what did nightly say?",
            "did nightly run last night?",
            "how long until nightly is due?",
            "why was nightly's ping rejected?",
            "were the alerts for nightly delivered?",
            "Isn't nightly down?",
        ],
    ),
    (
        "get_uptime",
        &[
            "uptime of nightly",
            "uptime of nightly in the last 7 days",
            "uptime of nightly this month",
            "uptime of nightly last week",
            "outages of nightly",
            "how often was nightly down this year?",
            "when was nightly last down?",
            "uptime report for nightly last 90 days",
            "How reliable has nightly been this month?",
        ],
    ),
    (
        "get_account",
        &[
            "how many checks are left?",
            "my limits",
            "which plan am I on?",
            "what is my floor?",
            "how much of my quota is left?",
            "how many checks am I using?",
            "which channels do I have?",
        ],
    ),
    (
        "preview_change",
        &[
            "what happens if I set grace of nightly to 10 minutes?",
            "what if nightly ran every 2 hours?",
            "what would happen if I changed nightly to cron \"0 3 * * *\"?",
            "would nightly go down if I set its grace to 5 minutes?",
            "what if nightly alerted after 3 failures?",
            "would setting the grace of nightly to 60 seconds take it down?",
            "is it safe to lower nightly's grace to 5 minutes?",
        ],
    ),
    (
        "preview_schedule",
        &[
            "when would `*/5 * * * *` in Europe/Berlin run?",
            "next runs of 0 9 * * 1-5",
            "what does @daily mean?",
            "is every 2 minutes allowed?",
            "can I use a period of 1 minute?",
            "when would \"0 3 * * 1-5\" run in Europe/Berlin",
        ],
    ),
    (
        "create_check",
        &[
            "create nightly every 5 minutes",
            "create nightly daily at 02:30 Europe/Berlin",
            "create nightly cron \"*/5 8-18 * * 1-5\" in Europe/Berlin with grace 5 minutes",
            "create nightly hourly and tell ops",
            "create nightly hourly, alert after 3 failures",
            "create nightly hourly and remind me every 2 hours",
            "create nightly hourly and tell nobody",
            "create nightly hourly with a max runtime of 20 minutes",
            "create nightly at 3am every day Europe/Berlin",
            "I need a check for nightly on weekdays at 9",
        ],
    ),
    (
        "update_check",
        &[
            "rename nightly to weekly",
            "set grace of nightly to 10 minutes",
            "set nightly to every 2 hours",
            "change nightly to cron \"0 3 * * *\" in Europe/Berlin",
            "set the timezone of nightly to Europe/Berlin",
            "tag nightly with prod",
            "describe nightly as \"dumps the database\"",
            "tell ops about nightly",
            "set channels of nightly to ops, dev",
            "alert after 3 failures for nightly",
            "remind me about nightly every 2 hours",
            "stop reminding me about nightly",
            "nightly should run every 2 hours",
            "send nightly alerts to slack",
            "stop alerts for nightly",
            "set grace of nightly to 10 min and period to 20 min",
        ],
    ),
    (
        "pause_check",
        &[
            "pause nightly",
            "pause nightly for 2 hours",
            "pause nightly until tomorrow 9:00 Europe/Berlin",
            "mute nightly",
            "snooze nightly 2h",
            "turn off nightly for the weekend",
            "stop monitoring nightly until friday 18:00",
        ],
    ),
    (
        "resume_check",
        &[
            "resume nightly",
            "unpause nightly",
            "please enable nightly",
            "turn nightly back on",
            "end the pause of nightly",
        ],
    ),
    (
        "pause_checks",
        &[
            "pause everything tagged prod until tomorrow 9:00 Europe/Berlin",
            "pause all prod checks",
            "pause \"a\" and \"b\" for 1 hour",
            "silence everything tagged staging for the weekend",
        ],
    ),
    (
        "delete_check",
        &[
            "delete nightly",
            "get rid of nightly",
            "remove the check nightly",
            "Please permanently delete nightly",
            "remove nightly from my checks",
        ],
    ),
    (
        "rotate_ping_key",
        &[
            "rotate the ping key of nightly",
            "new ping url for nightly",
            "regenerate the key of nightly",
            "give me a new ping URL for nightly",
        ],
    ),
    (
        "undo_action",
        &[
            "undo",
            "undo that",
            "undo action 3",
            "revert the last change",
            "take that back",
            "roll back action 3",
            "undo the last thing",
            "revert what you just did",
        ],
    ),
];

#[test]
fn each_tool_is_understood_in_plain_phrases() {
    for (tool, phrases) in TABLE {
        for phrase in *phrases {
            let called: Vec<String> = user(phrase).calls.into_iter().map(|call| call.name).collect();
            assert_eq!(called, [*tool], "{phrase}");
        }
    }
    let tools: Vec<&str> = TABLE.iter().map(|(tool, _)| *tool).collect();
    assert!(TOOLS.iter().all(|tool| tools.contains(tool)), "a tool without phrases");
    assert!(TABLE.iter().map(|(_, phrases)| phrases.len()).sum::<usize>() >= 110);
}
