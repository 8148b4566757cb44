//! What can be chosen: the models that a provider lists, the servers on this machine, and whose key a
//! text looks like. Asked when a person sets something up, never on the way to an answer.

mod key_shape;
mod list_cache;
mod local_servers;
mod model_query;

pub use key_shape::provider_of_key;
pub use list_cache::ModelListCache;
pub use local_servers::{LocalServer, LocalServerKind, find_local_servers};
pub use model_query::{ModelQuery, QueryError};
