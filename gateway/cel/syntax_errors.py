"""Finds the syntax errors that cel-go's parser reports, with its messages.

ANTLR generates cel-go's parser. Its messages depend on how it recovers from errors. So this module runs the same
automaton (grammar.json) with ANTLR's runtime, in the steps of the generated code. This is slow: it runs only for
invalid expressions, and only over the beginning of long ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from antlr4 import CommonTokenStream, InputStream
from antlr4.atn.ATNDeserializer import ATNDeserializer
from antlr4.atn.ATNState import ATNState
from antlr4.atn.LexerATNSimulator import LexerATNSimulator
from antlr4.atn.ParserATNSimulator import ParserATNSimulator
from antlr4.atn.Transition import Transition
from antlr4.dfa.DFA import DFA
from antlr4.error.ErrorListener import ErrorListener
from antlr4.error.Errors import FailedPredicateException, NoViableAltException, RecognitionException
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.IntervalSet import IntervalSet
from antlr4.Lexer import Lexer
from antlr4.LL1Analyzer import LL1Analyzer
from antlr4.ParserInterpreter import ParserInterpreter
from antlr4.ParserRuleContext import InterpreterRuleContext
from antlr4.PredictionContext import PredictionContext, PredictionContextCache
from antlr4.Token import Token
from antlr4.tree.Tree import TerminalNode

from gateway.cel.names import RESERVED
from gateway.cel.source import NO_LOCATION, Problem

_MOST_CHARACTERS = 2000
_MARGIN = 200
_DEEPEST = 250
_TOO_DEEP = f"expression recursion limit exceeded: {_DEEPEST}"
_MOST_RECOVERIES = 30
_MOST_SKIPPED = 256
_RESERVED = re.compile(r"no viable alternative at input '.(true|false|null)'")
_LOOP_BACKS = (ATNState.STAR_LOOP_BACK, ATNState.PLUS_LOOP_BACK)
_STARTS = (ATNState.BLOCK_START, ATNState.STAR_BLOCK_START, ATNState.PLUS_BLOCK_START, ATNState.STAR_LOOP_ENTRY)


class _GivenUp(Exception):
    pass


def syntax_problems(text: str, at: int, literal_problems: Callable[[str], list[Problem]]) -> list[Problem]:
    """The syntax errors of a text whose parsing failed at the offset `at`.

    `literal_problems` returns the errors of the text of one literal.
    """
    looked_at = text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS]
    listener = _Listener(looked_at)
    lexer = _Lexer(_automaton("lexer"), InputStream(looked_at))
    lexer.removeErrorListeners()
    lexer.addErrorListener(listener)
    parser = _Interpreter(literal_problems, _grammar("parser"), _automaton("parser"), CommonTokenStream(lexer))
    parser.removeErrorListeners()
    parser.addErrorListener(listener)
    parser._errHandler = _Strategy()
    try:
        parser.parse(0)
    except _GivenUp as reason:
        if reason.args:
            listener.problems.append(Problem(NO_LOCATION, reason.args[0]))
    except RecursionError:  # ANTLR's runtime recurses over all open rules
        listener.problems.append(Problem(NO_LOCATION, _TOO_DEEP))
    listener.problems += parser.problems
    if len(looked_at) == len(text):
        return listener.problems
    # errors near the cut come from the cut
    known = [each for each in listener.problems if each.at < _MOST_CHARACTERS - _MARGIN]
    return known or [Problem(at, f"Syntax error: no viable alternative at input '{text[at : at + 10]}'")]


@cache
def _document() -> Any:
    return json.loads(Path(__file__).with_name("grammar.json").read_text())


def _grammar(part: str) -> Any:
    return _document()[part]


def _automaton(part: str) -> Any:
    # not cached: ANTLR's runtime changes sets in the automaton
    return ATNDeserializer().deserialize(_grammar(part)["automaton"])


class _Listener(ErrorListener):
    def __init__(self, text: str) -> None:
        self.problems = list[Problem]()
        self._starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]

    def syntaxError(self, recognizer: Any, offendingSymbol: Any, line: int, column: int, msg: str, e: Any) -> None:
        message = _RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", msg)
        self.problems.append(Problem(self._starts[line - 1] + column, f"Syntax error: {message}"))


class _Lexer(Lexer):
    """Runs a lexer's automaton."""

    def __init__(self, automaton: Any, characters: Any) -> None:
        super().__init__(characters)
        tables = [DFA(state, decision) for decision, state in enumerate(automaton.decisionToState)]
        self._interp = LexerATNSimulator(self, automaton, tables, PredictionContextCache())

    def getErrorDisplay(self, s: str) -> str:
        return s


class _Strategy(DefaultErrorStrategy):
    """ANTLR's recovery with cel-go's limits."""

    def __init__(self) -> None:
        super().__init__()
        self._attempts = 0
        self._skipped: int | None = None

    def recover(self, recognizer: Any, e: Any) -> None:
        self._attempt(recognizer)
        super().recover(recognizer, e)

    def recoverInline(self, recognizer: Any) -> Any:
        self._attempt(recognizer)
        return super().recoverInline(recognizer)

    def consumeUntil(self, recognizer: Any, set_: Any) -> None:
        skipped, kind = 0, recognizer.getTokenStream().LA(1)
        while kind != Token.EOF and kind not in set_:
            if skipped == _MOST_SKIPPED:
                raise _GivenUp(f"error recovery token lookahead limit exceeded: {_MOST_SKIPPED}")
            skipped += 1
            recognizer.consume()
            kind = recognizer.getTokenStream().LA(1)

    def _attempt(self, recognizer: Any) -> None:
        if self._attempts == _MOST_RECOVERIES:
            recognizer.notifyErrorListeners(f"error recovery attempt limit exceeded: {_MOST_RECOVERIES}")
            raise _GivenUp
        self._attempts += 1


class _Interpreter(ParserInterpreter):
    """Runs a parser's automaton as generated code would."""

    def __init__(
        self, literal_problems: Callable[[str], list[Problem]], part: Any, automaton: Any, tokens: Any
    ) -> None:
        self._literal_problems = literal_problems
        names = [literal or symbol for literal, symbol in zip(part["literals"], part["symbols"], strict=True)]
        super().__init__("CEL", names, part["rules"], automaton, tokens)
        self.state: int
        self.literalNames = [name or "<INVALID>" for name in part["literals"]]
        self.symbolicNames = [name or "<INVALID>" for name in part["symbols"]]
        tables = [DFA(state, decision) for decision, state in enumerate(automaton.decisionToState)]
        self._interp = ParserATNSimulator(self, automaton, tables, PredictionContextCache())
        self.problems = list[Problem]()
        # the nesting of each grammar rule
        self._open = Counter[int]()
        self._looped = False
        self._choices: dict[int, list[set[int]] | None] = {}

    def parse(self, startRuleIndex: int) -> None:
        start = self.atn.ruleToStartState[startRuleIndex]
        self.enterRule(InterpreterRuleContext(None, -1, startRuleIndex), start.stateNumber, startRuleIndex)
        while True:
            state: Any = self.atn.states[self.state]
            if state.stateType == ATNState.RULE_STOP:
                if self._ctx.parentCtx is None:
                    return
                self._leave(state)
                continue
            try:
                self._visit(state)
            except RecognitionException as error:
                self.state = self.atn.ruleToStopState[state.ruleIndex].stateNumber
                self._ctx.exception = error
                self._errHandler.reportError(self, error)
                self._errHandler.recover(self, error)

    def _visit(self, state: Any) -> None:
        kind = state.stateType
        if kind in _LOOP_BACKS:
            self._errHandler.sync(self)
            self._looped = kind == ATNState.STAR_LOOP_BACK
        elif kind in _STARTS:
            looped, self._looped = self._looped, False
            if not (looped and kind == ATNState.STAR_LOOP_ENTRY) and self._decides(state):
                self._errHandler.sync(self)
        chosen = self._predict(state) if len(state.transitions) > 1 else 1
        transition = state.transitions[chosen - 1]
        self._take(state, transition)
        self.state = transition.target.stateNumber

    def _decides(self, state: Any) -> bool:
        return len(state.transitions) > 1 or state.stateType == ATNState.PLUS_BLOCK_START

    def _predict(self, state: Any) -> int:
        sets = self._lookahead(state)
        if sets is None:
            return int(self._interp.adaptivePredict(self._input, state.decision, self._ctx))
        ahead = self._input.LA(1)
        for chosen, each in enumerate(sets, 1):
            if ahead in each:
                return chosen
        if state.stateType in (ATNState.STAR_LOOP_ENTRY, ATNState.PLUS_LOOP_BACK) or self._skippable(state):
            return len(sets)
        raise NoViableAltException(self)

    def _skippable(self, state: Any) -> bool:
        """Whether a block is optional."""
        return any(each.target.stateType == ATNState.BLOCK_END for each in state.transitions)

    def _lookahead(self, state: Any) -> list[set[int]] | None:
        """The tokens that each alternative may start with; None if one token does not decide between them."""
        if state.decision not in self._choices:
            sets = [self._starts_with(each.target) for each in state.transitions]
            self._choices[state.decision] = sets if _disjoint(sets) and not self._recursive(state) else None
        return self._choices[state.decision]

    def _starts_with(self, state: Any) -> set[int]:
        """The tokens that may come next in a state; empty if that depends on precedence."""
        found = IntervalSet()
        LL1Analyzer(self.atn)._LOOK(state, None, PredictionContext.EMPTY, found, set(), set(), False, False)
        tokens = set(found)
        return set() if LL1Analyzer.HIT_PRED in tokens else tokens

    def _recursive(self, state: Any) -> bool:
        return bool(getattr(state, "isPrecedenceDecision", False))

    def _take(self, state: Any, transition: Any) -> None:
        match transition.serializationType:
            case Transition.EPSILON:
                looping = transition.target.stateType != ATNState.LOOP_END
                if state.stateNumber in self.pushRecursionContextStates and looping:
                    parent, invoking = self._parentContextStack[-1]
                    context = InterpreterRuleContext(parent, invoking, self._ctx.ruleIndex)
                    start = self.atn.ruleToStartState[state.ruleIndex].stateNumber
                    self.pushNewRecursionContext(context, start, self._ctx.ruleIndex)
            case Transition.ATOM:
                self.match(transition.label_)
            case Transition.SET | Transition.RANGE:
                self._match_one_of(transition)
            case Transition.RULE:
                self._enter(state, transition)
            case Transition.PRECEDENCE:
                if not self.precpred(self._ctx, transition.precedence):
                    raise FailedPredicateException(self, f"precpred(_ctx, {transition.precedence})")

    def _match_one_of(self, transition: Any) -> None:
        if self._input.LA(1) in transition.label:
            self._errHandler.reportMatch(self)
            self.consume()
        else:
            self._errHandler.recoverInline(self)

    def _enter(self, state: Any, transition: Any) -> None:
        start = transition.target
        self._open[start.ruleIndex] += 1
        if self._open[start.ruleIndex] > _DEEPEST:
            raise _GivenUp(_TOO_DEEP)
        context = InterpreterRuleContext(self._ctx, state.stateNumber, start.ruleIndex)
        if start.isPrecedenceRule:
            self.enterRecursionRule(context, start.stateNumber, start.ruleIndex, transition.precedence)
        else:
            self.enterRule(context, start.stateNumber, start.ruleIndex)

    def _leave(self, state: Any) -> None:
        self._name_problems(self.ruleNames[state.ruleIndex])
        self._open[state.ruleIndex] -= 1
        if self.atn.ruleToStartState[state.ruleIndex].isPrecedenceRule:
            parent, invoking = self._parentContextStack.pop()
            self.unrollRecursionContexts(parent)
            self.state = invoking
        else:
            self.exitRule()
        self.state = self.atn.states[self.state].transitions[0].followState.stateNumber

    def _name_problems(self, rule: str) -> None:
        """Adds the errors that cel-go reports when it visits the parse tree: of names and of literals."""
        place = self._ctx.start.start
        parent = self._ctx.parentCtx
        around = self.ruleNames[parent.ruleIndex] if parent is not None else ""
        if rule == "escapeIdent" and around == "member" and self._ctx.exception is not None:
            self.problems.append(Problem(place, "unsupported ident kind"))
        if rule == "literal" and self._ctx.exception is None and self._ctx.children:
            text = "".join(each.getText() for each in self._ctx.children)
            self.problems += [Problem(place + each.at, each.message) for each in self._literal_problems(text)]
        if rule == "primary" and self._ctx.children:
            words = [each.getText() for each in self._ctx.children if isinstance(each, TerminalNode)]
            name = next((word for word in words if word != "."), "")
            if name in RESERVED and "{" not in words and self._ctx.exception is None:
                self.problems.append(Problem(place, f"reserved identifier: {name}"))


def _disjoint(sets: list[set[int]]) -> bool:
    seen = set[int]()
    for each in sets:
        if not each or each & seen:
            return False
        seen |= each
    return True
