//! What happens, as it happens. A board is watched by one thread however many clients look at it: a
//! change is queried once and goes to all of them. Whoever reads too slowly is let go.

mod board_feed;
mod feeds;

pub(crate) use feeds::{BoardFeeds, FeedRequest, Next, Subscription, missed};
