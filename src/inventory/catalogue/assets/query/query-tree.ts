import { QueryFault, type QueryToken, queryTokens } from './query-tokens.js';

export type QueryOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

export interface QueryValue {
  readonly text: string;
  readonly column: number;
}

/** Comparison is `field op value`, or `field in (values)`, which matches if the field equals any of the values. */
export interface Comparison {
  readonly kind: 'comparison';
  readonly field: QueryValue;
  readonly operator: QueryOperator;
  readonly values: readonly QueryValue[];
}

export type QueryTree =
  | Comparison
  | { readonly kind: 'and' | 'or'; readonly parts: readonly QueryTree[] }
  | { readonly kind: 'not'; readonly part: QueryTree };

const MAX_COMPARISONS = 50;
const MAX_DEPTH = 20;

/**
 * queryTree parses a query such as `level>=HIGH and (family=RSA or family in (EC, "ECDSA")) and not host="db*"`. `not` binds tightest, then `and`, then `or`.
 *
 * @throws QueryFault with the column of the fault.
 */
export function queryTree(query: string): QueryTree {
  return new QueryParser(queryTokens(query)).whole();
}

class QueryParser {
  private at = 0;
  private comparisons = 0;

  constructor(private readonly tokens: readonly QueryToken[]) {}

  whole(): QueryTree {
    const tree = this.either(0);
    const { kind, text, column } = this.next();
    if (kind !== 'end') throw new QueryFault(column, `expected "and", "or" or the end of the query, not ${text}`);
    return tree;
  }

  private either(depth: number): QueryTree {
    return this.joined('or', () => this.both(depth));
  }

  private both(depth: number): QueryTree {
    return this.joined('and', () => this.one(depth));
  }

  private joined(word: 'and' | 'or', read: () => QueryTree): QueryTree {
    const first = read();
    const parts = [first];
    while (this.skipWord(word)) parts.push(read());
    return parts.length === 1 ? first : { kind: word, parts };
  }

  private one(depth: number): QueryTree {
    const { column } = this.peek();
    if (depth > MAX_DEPTH)
      throw new QueryFault(column, `parentheses and "not" are nested deeper than ${MAX_DEPTH} levels`);
    if (this.skipWord('not')) return { kind: 'not', part: this.one(depth + 1) };
    if (!this.skip('bracket', '(')) return this.comparison();
    const inner = this.either(depth + 1);
    if (!this.skip('bracket', ')')) throw new QueryFault(this.peek().column, 'expected )');
    return inner;
  }

  private comparison(): Comparison {
    const field = this.next();
    if (field.kind !== 'word') throw new QueryFault(field.column, 'expected a field name');
    this.comparisons += 1;
    if (this.comparisons > MAX_COMPARISONS)
      throw new QueryFault(field.column, `more than ${MAX_COMPARISONS} comparisons`);
    if (this.skipWord('in')) return { kind: 'comparison', field, operator: '=', values: this.list() };
    const operator = this.next();
    if (operator.kind !== 'operator') throw new QueryFault(operator.column, 'expected one of = != < <= > >= or "in"');
    return { kind: 'comparison', field, operator: operator.text as QueryOperator, values: [this.value()] };
  }

  private list(): QueryValue[] {
    if (!this.skip('bracket', '(')) throw new QueryFault(this.peek().column, 'expected (');
    const values = [this.value()];
    while (this.skip('comma', ',')) values.push(this.value());
    if (!this.skip('bracket', ')')) throw new QueryFault(this.peek().column, 'expected , or )');
    return values;
  }

  private value(): QueryValue {
    const token = this.next();
    if (token.kind !== 'word' && token.kind !== 'text') throw new QueryFault(token.column, 'expected a value');
    return token;
  }

  private peek(): QueryToken {
    return this.tokens[this.at] ?? { kind: 'end', text: '', column: 1 };
  }

  private next(): QueryToken {
    const token = this.peek();
    this.at += 1;
    return token;
  }

  private skip(kind: QueryToken['kind'], text: string): boolean {
    const token = this.peek();
    const found = token.kind === kind && token.text === text;
    if (found) this.at += 1;
    return found;
  }

  private skipWord(word: string): boolean {
    const token = this.peek();
    return token.kind === 'word' && this.skip('word', token.text.toLowerCase() === word ? token.text : '');
  }
}
