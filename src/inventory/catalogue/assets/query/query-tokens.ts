/** QueryToken is a token of a query. `column` counts from 1, in UTF-16 code units. */
export interface QueryToken {
  readonly kind: 'word' | 'text' | 'operator' | 'bracket' | 'comma' | 'end';
  readonly text: string;
  readonly column: number;
}

/** QueryFault is an error in a query, with its position. */
export class QueryFault extends Error {
  constructor(
    readonly column: number,
    readonly detail: string,
  ) {
    super(detail);
  }
}

const PIECES: readonly [RegExp, QueryToken['kind'] | 'space'][] = [
  [/\s+/y, 'space'],
  [/"(?:[^"\\]|\\["\\])*"/y, 'text'],
  [/<=|>=|!=|=|<|>/y, 'operator'],
  [/[()]/y, 'bracket'],
  [/,/y, 'comma'],
  [/[^\s"()=!<>,]+/y, 'word'],
];

/** queryTokens splits a query into tokens. @throws QueryFault on a syntax error. */
export function queryTokens(query: string): QueryToken[] {
  const tokens: QueryToken[] = [];
  for (let at = 0; at < query.length;) {
    const piece = pieceAt(query, at);
    if (piece === undefined)
      throw new QueryFault(
        at + 1,
        query[at] === '"' ? 'a quotation mark is not closed' : `unexpected character ${query[at]}`,
      );
    if (piece.kind !== 'space') tokens.push({ kind: piece.kind, text: unquoted(piece), column: at + 1 });
    at += piece.text.length;
  }
  return [...tokens, { kind: 'end', text: '', column: query.length + 1 }];
}

function pieceAt(query: string, at: number) {
  for (const [pattern, kind] of PIECES) {
    pattern.lastIndex = at;
    const text = pattern.exec(query)?.[0];
    if (text !== undefined) return { kind, text };
  }
  return undefined;
}

function unquoted({ kind, text }: { kind: string; text: string }): string {
  return kind === 'text' ? text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : text;
}
