import type { ParseArgsOptionsConfig } from 'node:util';
import type { ApiClient } from './api-client.js';
import type { ClientEnvironment } from './transport.js';

/** Values of the options that were given; options are strings or flags. */
export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;

export interface Invocation {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly environment: ClientEnvironment;
  /** Address given by `--url`. */
  readonly url: string | undefined;
  /** The service, with a credential; called only by commands that need one. `address` takes precedence over every other address. */
  api(address?: string): Promise<ApiClient>;
  /** Prints the result: `json` as it is with -o json, else `lines`. */
  print(json: unknown, lines: readonly string[]): void;
  /** For people, on the error stream: it is no part of the result. */
  note(line: string): void;
}

/** CommandForm is one way to call a command, such as `bom sign` and `bom verify`. An option that it does not use is refused. */
export interface CommandForm {
  /** Names of the options that have an effect. */
  readonly uses: readonly string[];
  /** Completes the refusal "--x has no effect …": `when an earlier request is finished`. */
  readonly when: string;
  /** The form never calls the service, so `--url` has no effect. */
  readonly isOffline?: boolean;
  /** The form prints no result of its own, so `--output` has no effect. */
  readonly isSilent?: boolean;
  /** Maximum number of arguments; unlimited if absent. */
  readonly maxArguments?: number;
}

/** One command of the program: a file of its own, listed in run.ts. */
export interface ClientCommand {
  readonly name: string;
  /** Arguments after the name, for the help. */
  readonly usage: string;
  readonly meaning: string;
  readonly options: ParseArgsOptionsConfig;
  /** Every form by its name. A command with a single form that uses all options and any arguments leaves it out. */
  readonly forms?: Readonly<Record<string, CommandForm>>;
  /** Returns the name of the form that is called, undefined if there is none: `run` then says so. Needed where there are several. */
  formOf?(options: OptionValues, positionals: readonly string[]): string | undefined | Promise<string | undefined>;
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
