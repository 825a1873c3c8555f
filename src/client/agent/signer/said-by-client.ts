import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { basename } from 'node:path';
import type { Protocol, AgentPurpose } from './purposes.js';

/** What this client says of the program that asks. Nobody can check it, and approvers are shown it as said by the client. */
export interface AskingProgram {
  /** `jarsigner`; undefined when any program of the user can ask. */
  readonly program?: string;
  readonly commandLine?: string;
  /** Name of the file that is signed, where it is known: policies and constraints of keys go by it. */
  readonly fileName?: string;
}

/** `metadata` of a signing request that an agent makes. */
interface AgentMetadata {
  readonly filename?: string;
  readonly saidByClient: {
    readonly program: string;
    readonly commandLine?: string;
    readonly machine: string;
    readonly user: string;
    readonly protocol: Protocol;
    readonly purpose: AgentPurpose;
  };
}

const MAX_COMMAND_LINE = 2000;
const MAX_NAME = 200;

const MACHINE = plain(hostname(), MAX_NAME);
const USER = plain(userName(), MAX_NAME);

/** Containers run under users that no file names. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** @param longest characters of the command line */
export function agentMetadataOf(
  asking: AskingProgram,
  protocol: Protocol,
  purpose: AgentPurpose,
  longest = MAX_COMMAND_LINE,
): AgentMetadata {
  const { program = 'any program of this user', commandLine, fileName } = asking;
  return {
    ...(fileName === undefined ? {} : { filename: plain(fileName, MAX_NAME) }),
    saidByClient: {
      program: plain(program, MAX_NAME),
      ...(commandLine === undefined ? {} : { commandLine: plain(commandLine, longest) }),
      machine: MACHINE,
      user: USER,
      protocol,
      purpose,
    },
  };
}

/** The program that a command line starts, without its secrets: approvers and the audit log see it. */
export function askingProgramOf(command: string, args: readonly string[], fileName?: string): AskingProgram {
  return { program: basename(command), commandLine: [basename(command), ...withoutSecrets(args)].join(' '), fileName };
}

const HIDDEN = '***';
/** `-storepass`, `--pin`, `-passin`, `--ks-pass`; not `--passive`. */
const NAMES_A_SECRET = /^--?[a-z-]*(?:pass(?:in|out|wd|word|phrase)?|pin|secret|token|key-?value)$/i;
/** `pass:secret`, `env` and `file` only say where it is. */
const INLINE = /^(pass|pin):/i;
const ASSIGNED = /^(--?[a-z-]*(?:pass(?:in|out|wd|word|phrase)?|pin|secret|token))=/i;

/** Arguments in which the values that look like secrets are replaced: a PIN in a PKCS #11 URI, a password after its option. */
export function withoutSecrets(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    if (NAMES_A_SECRET.test(before) && !/^(?:env|file|fd|stdin):?/.test(arg) && !arg.startsWith('-')) return HIDDEN;
    const assigned = ASSIGNED.exec(arg)?.[1];
    if (assigned !== undefined) return `${assigned}=${HIDDEN}`;
    if (INLINE.test(arg)) return `${arg.slice(0, arg.indexOf(':'))}:${HIDDEN}`;
    return arg.replaceAll(/([;?&]pin-value=)[^;?&]*/gi, `$1${HIDDEN}`);
  });
}

/** Control characters and marks that turn text around would let a command line look like another one. */
function plain(text: string, longest: number): string {
  const clean = text.replaceAll(/[\p{C}\u2028\u2029]/gu, ' ');
  return clean.length <= longest ? clean : `${clean.slice(0, longest - 1)}…`;
}

/**
 * Idempotency-Key of a request: the same digest for the same key, asked for by the same program in the same words, is the same request for
 * a day. So a program that is started again goes on with what people were asked, or said.
 *
 * @param after the request that this one is asked in place of, because it was rejected, withdrawn or expired
 */
export function requestNameOf(body: object, key: { id: string; version?: number }, after: string | undefined): string {
  const parts = JSON.stringify([body, key.id, key.version ?? null, after ?? null]);
  return `agent-${createHash('sha256').update(parts).digest('base64url')}`;
}
