//! Mail over SMTP, through the operator's server.

use std::error::Error as _;
use std::time::{Duration, UNIX_EPOCH};

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::Error;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use tokio::time::timeout;

use super::SendError;
use crate::checks::notice::Notice;
use crate::clock::Millis;
use crate::config::Smtp;

/// All of an attempt.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the settings of mail cannot be used. Repeats neither, since the URL may carry a password.
#[derive(Debug, thiserror::Error)]
pub enum MailSettingsError {
    /// `SMTP_URL`.
    #[error("SMTP_URL is not usable: it must be like smtps://user:password@mail.example or smtp://…?tls=required")]
    Url,
    /// `FLATLINE_MAIL_FROM`.
    #[error("FLATLINE_MAIL_FROM is not usable: it must be an address like Flatline <alerts@example.org>")]
    From,
}

/// Sends mail.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// Prepares the transport; connects to nothing.
    pub fn new(settings: &Smtp) -> Result<Self, MailSettingsError> {
        let builder =
            AsyncSmtpTransport::<Tokio1Executor>::from_url(&settings.url).map_err(|_| MailSettingsError::Url)?;
        let from: Mailbox = settings.from.parse().map_err(|_| MailSettingsError::From)?;
        Ok(Self { transport: builder.timeout(Some(PATIENCE)).build(), from })
    }

    /// Sends a notice; `id` is the delivery's and becomes the message's.
    pub async fn send(&self, to: &str, id: &str, notice: &Notice, now: Millis) -> Result<(), SendError> {
        let message = self.message(to, id, notice, now).map_err(|()| SendError::last("the address cannot be used"))?;
        match timeout(PATIENCE, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(_) => Err(SendError::retry("no answer in time")),
        }
    }

    /// Every field goes through the library's own types: none can end its line and begin another.
    fn message(&self, to: &str, id: &str, notice: &Notice, now: Millis) -> Result<Message, ()> {
        let to: Address = to.parse().map_err(|_| ())?;
        let date = UNIX_EPOCH + Duration::from_millis(now.0.max(0).unsigned_abs());
        // A name is one line where it is made; should one ever not be, it is one here.
        let subject: String = notice.headline().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .date(date)
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .subject(format!("[Flatline] {subject}"))
            .header(ContentType::TEXT_PLAIN)
            .body(notice.mail_text())
            .map_err(|_| ())
    }
}

/// A mail address in its stored form: its domain in lower case.
///
/// # Errors
/// What is wrong with it.
pub fn parse_address(text: &str) -> Result<String, String> {
    let address: Result<Address, _> = text.trim().parse();
    let usable = address.ok().filter(|address| address.as_ref() as &str == text.trim() && text.len() <= 254);
    let stored = |address: Address| format!("{}@{}", address.user(), address.domain().to_lowercase());
    usable.map(stored).ok_or_else(|| "This is no address like ann@example.org.".to_owned())
}

fn refusal(error: &Error) -> SendError {
    match error.status() {
        Some(code) => {
            let reason = format!("SMTP {code}");
            let said = error.source().map(ToString::to_string).unwrap_or_default();
            if error.is_permanent() && is_about_the_address(&said) {
                SendError::last(reason)
            } else {
                SendError::retry(reason)
            }
        }
        None if error.is_timeout() => SendError::retry("no answer in time"),
        None if error.is_tls() => SendError::retry("the TLS certificate or handshake failed"),
        None => SendError::retry("the mail server cannot be reached"),
    }
}

/// Whether a refusal says that there is no such mailbox, however often it is asked for: enhanced code 5.1.x. A bare 550
/// may as well be a relay's, a blocklist's or a policy's, and be put right within the hour.
fn is_about_the_address(said: &str) -> bool {
    let mut parts = said.split_whitespace().next().unwrap_or_default().split('.');
    let is_number =
        |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    parts.next() == Some("5") && parts.next() == Some("1") && is_number(parts.next()) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::notice::{Data, Event, Named};
    use crate::ids::ChannelId;

    #[test]
    fn a_line_break_in_a_name_begins_no_header() {
        let settings = Smtp { url: "smtp://127.0.0.1:1".to_owned(), from: "Flatline <a@b.example>".to_owned() };
        let name = "x\r\nBcc: evil@example.org\r\n\r\nhello".to_owned();
        let data = Data { channel: Some(Named { id: ChannelId("c".to_owned()), name }), ..Data::default() };
        let notice = Notice { event: Event::ChannelTest, timestamp: Millis(0), data };
        let message = Mailer::new(&settings).unwrap().message("ann@example.org", "id-1", &notice, Millis(0)).unwrap();
        let text = String::from_utf8(message.formatted()).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.to_lowercase().starts_with("bcc")), "{head}");
        assert!(head.contains("Message-ID: <id-1@b.example>"), "{head}");
        assert_eq!(message.envelope().to().len(), 1);
    }

    #[test]
    fn an_address_is_one_address() {
        assert_eq!(parse_address(" ann@example.org "), Ok("ann@example.org".to_owned()));
        assert_eq!(parse_address("Ann@Example.ORG"), Ok("Ann@example.org".to_owned()));
        let long = format!("{}@example.org", "a".repeat(300));
        for text in [
            "",
            "ann",
            "ann@",
            "@example.org",
            "ann@example.org, ben@example.org",
            "Ann <ann@example.org>",
            "ann@example.org\r\nBcc: ben@example.org",
            "ann@exam ple.org",
            "<ann@example.org>",
            &long,
        ] {
            assert!(parse_address(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_a_bad_address_is_final() {
        for said in ["5.1.1 no such user", "5.1.10 null MX", "5.1.0"] {
            assert!(is_about_the_address(said), "{said}");
        }
        for said in ["", "5.7.1 relaying denied", "5.1 x", "5.1. x", "5.1.1.2 x", "5.1.x", "4.1.1 later", "no 5.1.1 x"]
        {
            assert!(!is_about_the_address(said), "{said}");
        }
    }

    #[test]
    fn wrong_settings_are_told_without_the_password() {
        let wrong = Smtp { url: "imap://u:hunter2@mail.example".to_owned(), from: "a@b.example".to_owned() };
        let error = Mailer::new(&wrong).err().unwrap().to_string();
        assert!(error.contains("SMTP_URL") && !error.contains("hunter2"), "{error}");
    }
}
