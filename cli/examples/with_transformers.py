"""Hold ``generate`` of transformers to a table.

    python with_transformers.py

The model is a small one with random weights, so what it writes makes no sense; but it parses and
validates. With a model of yours, put it in the place of ``model`` and ``tokenizer``.
"""

import json
from pathlib import Path

import constrain
from constrain.tables.transformers import TableLogitsProcessor, TableStoppingCriteria


def main() -> None:
    """Answer two prompts with a tool call each."""
    import torch  # pyright: ignore[reportMissingImports]
    from transformers import (  # pyright: ignore[reportMissingImports]
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    here = Path(__file__).parent
    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(here / "tokenizer.json"),
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        padding_side="left",
    )
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
        )
    )

    table = constrain.compile(str(here / "tool_call.json"), str(here))  # or load("tool.npz")
    held = TableLogitsProcessor(table, budget=80)  # a new one for each call of generate
    prompts = tokenizer(["Is it cold in Oslo?", "Rain?"], return_tensors="pt", padding=True)
    out = model.generate(
        input_ids=prompts.input_ids,
        attention_mask=prompts.attention_mask,
        do_sample=True,
        max_new_tokens=80,
        pad_token_id=tokenizer.pad_token_id,
        logits_processor=[held],
        stopping_criteria=[TableStoppingCriteria(held)],
    )
    written = out[:, prompts.input_ids.shape[1] :]
    for text in tokenizer.batch_decode(written, skip_special_tokens=True):
        print(json.loads(text))


if __name__ == "__main__":
    main()
