//! Formats of strings as expressions: what a string with that format is, as a whole.
//!
//! `DATE` and `TIME` take the place of the library's own. The others are the library's, which it does not
//! show; a test compares them.

/// A day that exists. The library's own takes February 29 of every year.
pub const DATE: &str = concat!(
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)",
);
/// A leap second is at the end of a day in UTC; only times in UTC can be seen to be one.
pub const TIME: &str = concat!(
    "(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?",
    "(?:[zZ]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])",
    "|23:59:60(?:[.][0-9]+)?(?:[zZ]|[+-]00:00))",
);

/// Formats of strings that are enforced.
pub const NAMES: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

macro_rules! ipv4 {
    () => {
        concat!(
            "(?:(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])[.]){3}",
            "(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])",
        )
    };
}
/// A word of a domain, of any length.
macro_rules! label {
    () => {
        "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
    };
}
macro_rules! short_label {
    () => {
        "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    };
}
/// A character of a path in a URI.
macro_rules! path_character {
    () => {
        "(?:[a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2})"
    };
}
macro_rules! hexadecimal {
    () => {
        "[0-9a-fA-F]{1,4}"
    };
}

const DURATION: &str = concat!(
    "P(?:(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)",
    "(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?",
    "|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)",
    "|[0-9]+W)",
);
const EMAIL: &str = concat!(
    "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:[.][a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*@",
    "(?:",
    label!(),
    "(?:[.]",
    label!(),
    ")*|\\[",
    ipv4!(),
    "\\])",
);
const HOSTNAME: &str = concat!(short_label!(), "(?:[.]", short_label!(), ")*");
const IPV6: &str = concat!(
    "(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}",
    "|::(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:[0-9a-fA-F]{1,4})?::(?:[0-9a-fA-F]{1,4}:){0,4}[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,1}[0-9a-fA-F]{1,4})?::(?:[0-9a-fA-F]{1,4}:){0,3}",
    "[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,2}[0-9a-fA-F]{1,4})?::(?:[0-9a-fA-F]{1,4}:){0,2}",
    "[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,3}[0-9a-fA-F]{1,4})?::[0-9a-fA-F]{1,4}:",
    "[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,4}[0-9a-fA-F]{1,4})?::[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{1,4})?::[0-9a-fA-F]{1,4}",
    "|(?:(?:[0-9a-fA-F]{1,4}:){0,6}[0-9a-fA-F]{1,4})?::",
);
const UUID: &str = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
/// The text between the brackets of a host.
macro_rules! ip_literal {
    () => {
        concat!(
            "(?:[0-9a-fA-F]{1,4}:){7}",
            hexadecimal!(),
            "|(?:[0-9a-fA-F]{1,4}:){1,7}:",
            "|(?:[0-9a-fA-F]{1,4}:){1,6}:",
            hexadecimal!(),
            "|(?:[0-9a-fA-F]{1,4}:){1,5}(?::[0-9a-fA-F]{1,4}){1,2}",
            "|(?:[0-9a-fA-F]{1,4}:){1,4}(?::[0-9a-fA-F]{1,4}){1,3}",
            "|(?:[0-9a-fA-F]{1,4}:){1,3}(?::[0-9a-fA-F]{1,4}){1,4}",
            "|(?:[0-9a-fA-F]{1,4}:){1,2}(?::[0-9a-fA-F]{1,4}){1,5}",
            "|",
            hexadecimal!(),
            ":(?::[0-9a-fA-F]{1,4}){1,6}",
            "|:(?::[0-9a-fA-F]{1,4}){1,7}",
            "|::",
            "|v[0-9a-fA-F]+[.][a-zA-Z0-9._~!$&'()*+,;=:-]+",
        )
    };
}
const URI: &str = concat!(
    "[a-zA-Z][a-zA-Z0-9+.-]*:",
    "(?://(?:(?:[a-zA-Z0-9._~!$&'()*+,;=:-]|%[0-9a-fA-F]{2})*@)?",
    "(?:\\[(?:",
    ip_literal!(),
    ")\\]|(?:[a-zA-Z0-9._~!$&'()*+,;=-]|%[0-9a-fA-F]{2})*)",
    "(?::[0-9]*)?(?:/",
    path_character!(),
    "*)*|/(?:",
    path_character!(),
    "+(?:/",
    path_character!(),
    "*)*)?|",
    path_character!(),
    "+(?:/",
    path_character!(),
    "*)*|)(?:[?](?:[a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-fA-F]{2})*)?",
    "(?:#(?:[a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-fA-F]{2})*)?",
);

/// None: `NAMES` does not have it, or `schema::prepare` writes it as a pattern.
pub fn expression(name: &str) -> Option<&'static str> {
    Some(match name {
        "duration" => DURATION,
        "email" => EMAIL,
        "hostname" => HOSTNAME,
        "ipv4" => ipv4!(),
        "ipv6" => IPV6,
        "uuid" => UUID,
        "uri" => URI,
        _ => return None,
    })
}
