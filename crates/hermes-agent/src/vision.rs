//! Images described in words, for models that see none.

use hermes_proc::Wake;
use hermes_providers::{
    AuxiliaryModels, AuxiliaryTask, Content, ContentPart, Image, Message, ModelRequest,
};

use crate::auxiliary::{Account, ask_auxiliary, record};

const INSTRUCTIONS: &str = "Describe the image for somebody who cannot see it: what it shows, every \
    text in it word for word, layout, colours and numbers that matter. No opinion and no greeting.";
const MAX_TOKENS: u32 = 4_000;

/// What an image shows, in words. The cost goes to the account.
pub fn describe_image(
    models: &AuxiliaryModels,
    image: &Image,
    question: &str,
    interrupt: &Wake,
    account: &Account,
) -> Result<String, String> {
    let provider = models.open(AuxiliaryTask::Vision);
    let provider = provider.map_err(|error| error.to_string())?;
    let mut parts = vec![ContentPart::Image(image.clone())];
    if !question.trim().is_empty() {
        let about = format!("The question that the image belongs to: {question}");
        parts.push(ContentPart::Text(about));
    }
    let request = ModelRequest {
        max_tokens: Some(MAX_TOKENS),
        task: Some(AuxiliaryTask::Vision),
        ..ModelRequest::new(INSTRUCTIONS, vec![Message::user(Content::Parts(parts))])
    };
    let answer =
        ask_auxiliary(&*provider, &request, interrupt).map_err(|error| error.to_string())?;
    record(account, &answer.usage);
    if answer.text.is_empty() {
        return Err("the model said nothing about it".to_owned());
    }
    Ok(answer.text)
}
