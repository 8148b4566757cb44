//! The dashboard's own front-end: pages that the server renders and small modules that keep them live.
//!
//! A page is a client of the API of the same process: it asks the endpoints that programs ask, and
//! shows what they answer. So a page knows nothing that the API does not tell, and whatever it shows is
//! escaped by its template.

mod assets;
mod board;
mod card;
mod chart;
mod chat;
mod config;
mod cron;
mod frame;
mod front_end;
mod keys;
mod layout;
mod login;
mod logs;
mod profiles;
mod review;
mod review_rows;
mod sessions;
mod shell;
mod shown;
mod skills;
mod source;
mod status;
mod transcript;
mod usage;

pub(crate) use assets::{asset, file_below};
pub(crate) use config::set_value;
pub(crate) use front_end::other_path;
pub(crate) use layout::page_response;
pub(crate) use login::{LoginPage, LoginProvider, RefusedPage};
pub(crate) use shown::ago;

use std::pin::Pin;

use self::shell::Trouble;
use crate::app::off_loop;
use crate::call::{Answered, Call};

/// An answer on its way.
type Coming = Pin<Box<dyn Future<Output = Answered> + Send>>;

/// One page.
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) render: fn(Call) -> Coming,
}

macro_rules! pages {
    ($($path:literal $page:path;)+) => {
        /// All pages. Where another front-end is served, their paths are its own.
        pub(crate) const PAGES: &[Page] = &[$(Page {
            path: $path,
            render: |call| Box::pin(own_or_other(call, $page)),
        }),+];
    };
}

pages! {
    "/" board::page;
    "/board" board::page;
    "/board/{id}" card::page;
    "/board/{id}/review" review::page;
    "/chat" chat::page;
    "/sessions" sessions::page;
    "/sessions/{id}" transcript::page;
    "/sessions/{id}/export" transcript::export;
    "/status" status::page;
    "/logs" logs::page;
    "/usage" usage::page;
    "/cron" cron::page;
    "/skills" skills::page;
    "/profiles" profiles::page;
    "/profiles/{name}" profiles::soul;
    "/config" config::page;
    "/keys" keys::page;
}

async fn own_or_other<A>(call: Call, page: fn(Call) -> A) -> Answered
where
    A: Future<Output = Answered> + Send,
{
    if call.app.web_dist.is_some() {
        return off_loop(move || other_path(&call)).await;
    }
    let context = call.context();
    let home = &context.location.home;
    if !home.is_dir() {
        let trouble = Trouble {
            title: "The home is not there".to_owned(),
            detail: format!("There is no directory {}.", home.display()),
            hint: Some("Bring it back, or make a new one with `hermes setup`.".to_owned()),
        };
        return frame::trouble_page(&call, 503, trouble);
    }
    page(call).await
}
