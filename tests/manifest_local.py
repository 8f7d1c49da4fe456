"""Rows of the manifest about models on this machine.

L3.NAME: what a model file is refused for, and what is read from it. L4.NAME: how
files of other programs are found. L5.NAME: what a managed server
may do to us. L6.n: faults that users of local models reported elsewhere.
"""

from __future__ import annotations

from tests.manifest import missing

FILES = (
    missing("L3.fields", "The header gives what a plan and a person need"),
    missing("L3.fast", "A large vocabulary is skipped fast, and a header is read once"),
    missing("L3.mutations", "No change of any byte does more than a refusal in words"),
    missing("L3.missing", "A file that is gone is a refusal, also between listing and loading"),
    missing("L3.unreadable", "A file that may not be read is a refusal"),
    missing("L3.not_a_file", "A folder, a pipe or a device is refused"),
    missing("L3.too_small", "A file of fewer than 24 bytes is refused"),
    missing("L3.magic", "A wrong start is refused; an HTML page and a Git LFS pointer are named"),
    missing("L3.big_endian", "A big-endian file is refused"),
    missing("L3.version", "Only versions 2 and 3 are read"),
    missing("L3.key_count", "Too many keys are refused before they are counted out"),
    missing("L3.tensor_count", "Too many tensors are refused"),
    missing("L3.no_tensors", "A file without tensors is no model"),
    missing("L3.string_length", "A text longer than the rest of the file is refused"),
    missing("L3.array_length", "A list longer than the rest of the file is refused"),
    missing("L3.cut", "A header that is cut off anywhere is refused"),
    missing("L3.key_empty", "An empty key is refused"),
    missing("L3.key_duplicate", "A key that comes twice is refused"),
    missing("L3.key_utf8", "A key that is no text is refused"),
    missing("L3.nested_array", "A list of lists is refused"),
    missing("L3.value_type", "A value of an unknown type is refused"),
    missing("L3.field", "A field that is missing or of the wrong type is named"),
    missing("L3.architecture", "A file that names no architecture is refused"),
    missing("L3.block_count", "No layers, or more than 512, are refused"),
    missing("L3.alignment", "An alignment that cannot be is refused"),
    missing("L3.tensor_name", "A tensor's name that is too long or comes twice is refused"),
    missing("L3.tensor_dims", "More than four dimensions are refused"),
    missing("L3.tensor_zero", "A dimension of nothing is refused"),
    missing("L3.tensor_overflow", "A product of dimensions that overflows is refused"),
    missing("L3.tensor_row", "A row that is no whole number of blocks is refused"),
    missing("L3.tensor_offset", "A tensor that is not aligned is refused"),
    missing("L3.tensor_extent", "A tensor beyond the file is refused: a download was cut off"),
    missing("L3.tokenizer_type", "A vocabulary of the wrong type is refused"),
    missing("L3.tokenizer_length", "Lists of a vocabulary that do not fit together are refused"),
    missing("L3.split_missing", "A split model names the parts that are missing"),
    missing("L3.split_later", "A later part of a split model is no model to choose"),
    missing("L3.split_mixed", "Parts of two models are not taken for one"),
    missing("L3.not_a_model", "An adapter or a projector is not offered as a model"),
    missing("L3.kv_exact", "The cache is planned to the byte that the server reports"),
    missing("L3.kv_full", "What is not known of an architecture is counted in full, never less"),
    missing("L3.plan", "The largest context that fits is chosen, or the refusal has the numbers"),
    missing("L3.available", "Free memory is that of the machine and of its container, less a rest"),
)
STORES = (
    missing("L4.ollama", "Models of Ollama are found by their names, or a note says why not"),
    missing("L4.lm_studio", "Models of LM Studio lie exactly at publisher/repository/file"),
    missing("L4.hub_cache", "The hub cache is where the variables say, and one blob is one model"),
    missing("L4.llama_cpp", "The flat cache of llama.cpp is listed"),
    missing("L4.folders", "Configured folders are searched within limits, never the whole home"),
    missing("L4.limits", "Entries and notes are bounded"),
    missing("L4.mmproj", "A projector is paired with its model and never offered as one"),
    missing("L4.split", "A split model is one row with all its parts"),
    missing("L4.notes", "Files that cannot be used are named, with the reason"),
    missing("L4.row_id", "A row is named by the hash of its canonical path"),
    missing("L4.once", "One file is one row, whatever leads to it"),
    missing("L4.read_only", "Nothing is changed in any store"),
    missing("L4.names", "Names of files cannot steer a terminal"),
    missing("L4.checked", "The catalogue's name stands only where the hash was checked"),
    missing("L4.resolve", "A model is found by its name, its row or its path"),
    missing("L4.vanished", "A file that went away is an ordinary refusal"),
)
SERVER = (
    missing("L5.start", "It gets a cleared environment, its key in it, and no input"),
    missing("L5.launcher", "The launcher tells its address, and why it could not start"),
    missing("L5.resolve", "The engine is the one that was asked for, or the first that works"),
    missing("L5.healthy", "It is ready when our child answered us with our key and our model"),
    missing(
        "L5.port", "No port is chosen before it listens; another server is never taken for ours"
    ),
    missing("L5.badfile", "A file that is no model ends in words, with the server's own last ones"),
    missing("L5.truncatedfile", "A model that is cut off is refused before a server starts"),
    missing("L5.truncated", "An answer that filled the context is visible as cut off"),
    missing("L5.context", "A context is never above the trained one nor above the plan"),
    missing("L5.overflow", "A request beyond the context is compacted or refused, not repeated"),
    missing("L5.limit", "An answer that ran into its limit is cut off, not finished"),
    missing("L5.arguments", "Arguments that cannot be read are not sent back as they were"),
    missing("L5.schema", "A schema that the engine drops does not make an answer valid"),
    missing("L5.system", "There is one system message, and it comes first"),
    missing("L5.sigterm", "It ends within its grace and is waited for; else it is killed"),
    missing("L5.pdeathsig", "It dies with us, and not with the thread that started it"),
    missing("L5.threads", "All usable cores but one, at least one"),
    missing("L5.lease", "Who shares it keeps it up; the last one to leave stops it"),
)
REPORTS = (
    missing("L6.1", "A call that was required and did not come is a fault, asked for once more"),
    missing("L6.2", "One tool that must be called is not left to the server's goodwill"),
    missing("L6.3", "Arguments that are no JSON become an error for the model"),
    missing("L6.4", "Invalid arguments in the history do not fail every later request"),
    missing("L6.5", "Arguments that come all at once do not time out"),
    missing("L6.6", "Every call that is sent has an id that is text"),
    missing("L6.7", "Patterns and formats are taken out of schemas for local servers"),
    missing("L6.8", "Templates that want the system message first get it first"),
    missing("L6.9", "Which chat template is used is known and shown"),
    missing("L6.10", "A prompt whose front the server dropped is noticed"),
    missing("L6.11", "One slot, and the context that was planned, by the server's own word"),
    missing("L6.12", "A full context is recognised however it is worded"),
    missing("L6.13", "Another service on the port is not taken for ours"),
    missing("L6.14", "No server is orphaned, and none that lives is taken from its owner"),
    missing("L6.15", "Every server is waited for, and its whole group ends"),
)
LOCAL = (*FILES, *STORES, *SERVER, *REPORTS)
