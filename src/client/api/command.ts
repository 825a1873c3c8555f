import type { ParseArgsOptionsConfig } from 'node:util';
import type { ApiClient } from './api-client.js';
import type { ClientEnvironment } from './transport.js';

/** OptionValues contains the given options, as strings or flags. */
export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;

export interface Invocation {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly environment: ClientEnvironment;
  /** URL given with `--url`. */
  readonly url: string | undefined;
  /** Returns an authenticated client. Called only by commands that need a client. `address` takes precedence over every other URL. */
  api(address?: string): Promise<ApiClient>;
  /** Prints the result: `json` if `-o json` is given, otherwise `lines`. */
  print(json: unknown, lines: readonly string[]): void;
  /** Prints a message for the user on standard error. The message is not part of the result. */
  note(line: string): void;
}

/** CommandForm is one way to call a command, such as `bom sign` and `bom verify`. Options that the form does not use are rejected. */
export interface CommandForm {
  /** Names of the options that have an effect. */
  readonly uses: readonly string[];
  /** Completes the error "--x has no effect …", for example `when an earlier request is finished`. */
  readonly when: string;
  /** Whether the form never calls the service, so that `--url` has no effect. */
  readonly isOffline?: boolean;
  /** Whether the form prints no result, so that `--output` has no effect. */
  readonly isSilent?: boolean;
  /** Maximum number of arguments. If omitted, there is no maximum. */
  readonly maxArguments?: number;
}

/** ClientCommand is one command of the program. Each command has its own file and is listed in run.ts. */
export interface ClientCommand {
  readonly name: string;
  /** Arguments after the name, as shown in the help. */
  readonly usage: string;
  readonly meaning: string;
  readonly options: ParseArgsOptionsConfig;
  /** Forms by name. Omitted for a command that has a single form and uses all options and any arguments. */
  readonly forms?: Readonly<Record<string, CommandForm>>;
  /** Returns the name of the form that was called. Returns undefined if no form matches, which `run` reports. Required if there are several forms. */
  formOf?(options: OptionValues, positionals: readonly string[]): string | undefined | Promise<string | undefined>;
  /** Returns the exit code of the program: one of EXIT, or for `exec` the exit code of the tool. */
  run(invocation: Invocation): Promise<number>;
}

/** Returns the value of a string option, or undefined if the option was not given. */
export function text(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Quotes any string as a single word for a POSIX shell. */
export function shellWord(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
