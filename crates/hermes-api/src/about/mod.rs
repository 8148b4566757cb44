//! What the server says about itself: health, numbers, models, abilities.

mod capabilities;
mod health;
mod models;
mod numbers;
mod openapi;
mod tools;

pub(crate) use capabilities::capabilities;
pub(crate) use health::{health, health_detailed};
pub(crate) use models::models;
pub(crate) use numbers::metrics;
pub(crate) use openapi::openapi;
pub(crate) use tools::{skills, toolsets};
