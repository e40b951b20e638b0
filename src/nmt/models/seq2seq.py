"""Stacked LSTMs: without attention (Sutskever et al. 2014), or with Luong's (Luong et al. 2015)."""

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.dropout import Dropout
from nmt.models.protocol import HiddenStates, Model, State
from nmt.models.recurrent import LayerState, init_orthogonal_lstm, lstm_step, run, run_packed
from nmt.models.recurrent_attention import SCORE_FUNCTIONS, Memory, context_vectors, masked_softmax

# B sentences, S source length, T target length, E embedding width, H hidden width, V vocabulary,
# R = B * beam rows

WINDOW = 10  # D, the words on either side that local-p attends to (Luong, section 4.1)


class Seq2Seq(Model):
    """Two stacks of LSTMs, of which the decoder starts from the encoder's last states.

    The source may be read backwards. With attention the top state h_t, compared with the encoder's,
    gives a context c_t, and both the attentional state tanh(W_c [c_t; h_t]) (Luong's equation 5).
    With input feeding that is also a part of the next step's input (section 3.3).

    Source (B, S) -> embeddings (B, S, E) -> encoder states (B, S, H). Target (B, T) -> embeddings
    (B, T, E) -> top states (B, T, H) -> attentional states (B, T, H), which `output` maps to logits
    (B, T, V).
    """

    def __init__(self, config: configuration.Seq2Seq, source_size: int, target_size: int):
        super().__init__()
        width = config.d_embedding
        hidden = config.d_hidden
        self.config = config
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        stack = {
            "num_layers": config.layers,
            "batch_first": True,
            "dropout": config.dropout if config.layers > 1 else 0.0,
        }
        self.encoder = nn.LSTM(width, hidden, **stack)
        fed = hidden if config.input_feeding else 0
        self.decoder = nn.LSTM(width + fed, hidden, **stack)
        if config.score:  # as with every attention
            self.alignment = SCORE_FUNCTIONS[config.score](hidden, hidden)
            self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        if config.attention == "local-p":
            self.place = nn.Sequential(
                nn.Linear(hidden, hidden, bias=False),
                nn.Tanh(),
                nn.Linear(hidden, 1, bias=False),
                nn.Sigmoid(),
            )
        self.output = nn.Linear(hidden, target_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init_range, config.init_range)
        if config.init == "orthogonal":
            for lstm in (self.encoder, self.decoder):
                init_orthogonal_lstm(lstm)

    def encode(self, source: Source) -> tuple[Memory, list[LayerState]]:
        """Encode the source: (B, S) -> memory, and the last states of each layer, (B, H).

        The memory is in the source's order, in whatever order it was read.
        """
        padding = source.padding
        lengths = (~padding).sum(1)
        reverse = self.config.reverse_source
        read = reverse_before_eos(source.tokens, lengths) if reverse else source.tokens
        embedded = self.dropout(self.source_embedding(read))
        encoder_states, last = run_packed(self.encoder, embedded, source.lengths)
        layers = list(zip(*last, strict=True))
        if self.config.attention == "none":
            nothing = encoder_states[:, :0]
            return Memory(nothing, nothing, padding), layers
        if reverse:
            encoder_states = reverse_before_eos(encoder_states, lengths)
        encoder_states = self.dropout(encoder_states)
        return self.alignment.memory(encoder_states, padding), layers

    def attention_weights(self, top: Tensor, memory: Memory) -> Tensor:
        """Return the weights of the source for states of the top layer: (B, T, H) -> (B, T, S)."""
        scores = self.alignment.scores(top, memory.keys)
        padding = memory.padding[:, None]
        if self.config.attention == "global":
            return masked_softmax(scores, padding)
        # Local-p: a window around p_t = S sigmoid(v^T tanh(W h_t)), in which words count by a
        # Gaussian with sigma = D / 2 (equations 9 and 10). In bfloat16 positions past 128 would
        # all be even.
        dtype = torch.promote_types(memory.encoder_states.dtype, torch.float32)
        lengths = (~memory.padding).sum(1)[:, None, None]
        center = lengths * self.place(top).to(dtype)  # (B, T, 1)
        distance = torch.arange(scores.size(-1), device=scores.device) - center  # (B, T, S)
        outside = distance.abs() > WINDOW
        weights = masked_softmax(scores, padding | outside)
        return weights * torch.exp(-2 * (distance / WINDOW) ** 2)

    def attentional_states(self, top: Tensor, memory: Memory) -> tuple[Tensor, Tensor | None]:
        """Return what `output` maps to logits, dropout included, and attention's weights.

        (B, T, H) -> (B, T, H), (B, T, S). Without attention these are the top states and None.
        """
        if self.config.attention == "none":
            return self.dropout(top), None
        weights = self.attention_weights(top, memory)
        context = context_vectors(weights, memory)
        attentional = torch.tanh(self.combine(torch.cat([context, top], -1)))
        return self.dropout(attentional), weights

    def advance(self, embedded: Tensor, state: State) -> tuple[Tensor, Tensor | None]:
        """Run the decoder over one word behind those of the state, which goes on: (R, E).

        Returns the attentional state (R, H), and weights (B, beam, S).
        """
        layers, attentional = state.own
        fed = [attentional] if self.config.input_feeding else []
        layers = lstm_step(self.decoder, torch.cat([embedded, *fed], -1), layers, self.dropout)
        top, _ = layers[-1]
        beams = top.unflatten(0, (-1, state.beam))  # (R, H) -> (B, beam, H)
        states, weights = self.attentional_states(beams, state.shared)
        state.own = layers, states.flatten(0, 1)
        return state.own[1], weights

    def decode(self, source: Source, target: Sequences) -> tuple[Tensor, Tensor | None]:
        """Run teacher forcing: (B, S), (B, T) -> states (B, T, H), weights (B, T, S)."""
        state = self.start(source)
        embedded = self.dropout(self.target_embedding(target.tokens))
        if not self.config.input_feeding:
            layers, _ = state.own
            hidden, cell = map(torch.stack, zip(*layers, strict=True))
            top, _ = run(self.decoder, embedded, (hidden, cell))
            return self.attentional_states(top, state.shared)
        steps = [self.advance(word, state) for word in embedded.unbind(1)]
        outputs, maps = zip(*steps, strict=True)
        return torch.stack(outputs, 1), torch.cat(maps, 1)

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, H)."""
        return HiddenStates(self.decode(source, target)[0])

    def start(self, source: Source) -> State:
        """Return the state before the first step.

        Shared is the memory. Each row has the states of the layers and the attentional state.
        """
        memory, layers = self.encode(source)
        return State(source.tokens, memory, (layers, torch.zeros_like(layers[0][0])))

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, H)."""
        return self.advance(self.target_embedding(tokens), state)[0]

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights (B, 1, T, S), or {} without attention.

        Local-p's, which sum to less than one, are normalized.
        """
        weights = self.decode(source, target)[1]
        if weights is None:
            return {}
        return {"attention": (weights / weights.sum(-1, keepdim=True))[:, None]}


def reverse_before_eos(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row but for EOS and padding, which stay where they are: a b c EOS -> c b a EOS.

    (B, S) or (B, S, D), lengths (B,) with EOS counted. Applied twice it changes nothing.
    """
    position = torch.arange(sequence.size(1), device=sequence.device)[None]
    mirrored = lengths[:, None] - 2 - position
    order = torch.where(mirrored >= 0, mirrored, position)
    return torch.take_along_dim(sequence, order if sequence.dim() == 2 else order[..., None], 1)
