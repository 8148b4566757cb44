//! Words in place of images, for models that are to get those (`agent.image_input_mode`).

use hermes_agent::{TurnInput, describe_image};
use hermes_proc::Wake;
use hermes_providers::AuxiliaryModels;
use hermes_session::SessionId;

use crate::context::Context;
use crate::person::Person;

/// The input with a description in place of each image. An image that nobody can describe is sent as
/// it is.
pub(crate) fn described(
    mut input: TurnInput,
    models: &AuxiliaryModels,
    interrupt: &Wake,
    session: &SessionId,
    context: &Context,
    person: &dyn Person,
) -> TurnInput {
    let account = Some((context.location.home.clone(), session.clone()));
    let images = std::mem::take(&mut input.images);
    for (at, image) in images.into_iter().enumerate() {
        if interrupt.is_raised() {
            input.images.push(image);
            continue;
        }
        match describe_image(models, &image, &input.text, interrupt, &account) {
            Ok(text) => {
                let words = format!("[Image {}, described by another model: {text}]", at + 1);
                let whole = format!("{}\n\n{words}", input.text);
                whole.trim().clone_into(&mut input.text);
            }
            Err(reason) => {
                person.warn(&format!("the image could not be described: {reason}"), None);
                input.images.push(image);
            }
        }
    }
    input
}
