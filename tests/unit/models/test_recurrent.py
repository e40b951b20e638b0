"""The recurrent rivals against torch's own cells, and their peculiarities."""

import torch
from families import random_model, random_sentences, sources

from nmt.models.protocol import EOS, PAD
from nmt.models.recurrent import backwards


def test_rnnsearch_decodes_with_a_gru_as_torch_computes_it():
    model = random_model("rnnsearch")
    cell = torch.nn.GRUCell(10 + 24, 12, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.cat([model.input_gates.weight, model.context_gates.weight], 1))
        cell.bias_ih.copy_(model.input_gates.bias)
        cell.weight_hh.copy_(model.hidden_gates.weight)
        cell.bias_hh.copy_(model.hidden_gates.bias)
        embedded, context, hidden = (torch.randn(5, n, dtype=torch.float64) for n in (10, 24, 12))
        ours = model.advance(model.input_gates(embedded), context, hidden)
        torch.testing.assert_close(ours, cell(torch.cat([embedded, context], 1), hidden), rtol=1e-9, atol=1e-9)


def test_rnnsearch_starts_from_the_backward_state_of_the_first_word():
    model = random_model("rnnsearch")
    source = sources(random_sentences([4, 7]))
    memory = model.encode(source)
    backward_at_first_word = memory.states[:, 0, 12:]
    torch.testing.assert_close(memory.first, torch.tanh(model.initial(backward_at_first_word)))


def test_the_source_is_read_backwards_with_its_end_in_place():
    source = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    expected = torch.tensor([[7, 6, 5, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    assert torch.equal(backwards(source, (source != PAD).sum(1)), expected)
