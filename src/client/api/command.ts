import type { ParseArgsOptionsConfig } from 'node:util';
import type { ApiClient } from './api-client.js';
import type { ClientEnvironment } from './transport.js';

/** Values of the options that were given; options are strings or flags. */
export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;

export interface Invocation {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly environment: ClientEnvironment;
  /** The service, with a credential; asked for only by commands that need one. `url` comes before every other address. */
  api(url?: string): Promise<ApiClient>;
  /** Prints the result: `json` as it is with -o json, else `lines`. */
  print(json: unknown, lines: readonly string[]): void;
  /** For people, on the error stream: it is no part of the result. */
  note(line: string): void;
}

/** One command of the program: a file of its own, listed in commands.ts. */
export interface ClientCommand {
  readonly name: string;
  /** Arguments after the name, for the help. */
  readonly usage: string;
  readonly meaning: string;
  readonly options: ParseArgsOptionsConfig;
  /** Answers one of EXIT, with which the program ends; `exec` that of the program that it ran. */
  run(invocation: Invocation): Promise<number>;
}

/** The option as text, when it was given. */
export function text(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** A word as a POSIX shell reads it back, whatever is in it. */
export function shellWord(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
