import { createHash } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { basename } from 'node:path';
import type { Protocol, AgentPurpose } from './purposes.js';

/** AskingProgram describes the requesting program. The information is not verified, and approvers see it as reported by the client. */
export interface AskingProgram {
  /** Program name, such as `jarsigner`. Undefined if any of the user's programs can send requests. */
  readonly program?: string;
  readonly commandLine?: string;
  /** Name of the file to sign, if known. Policies and key constraints can depend on the name. */
  readonly fileName?: string;
}

/** `metadata` of a signing request made by an agent. */
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

/** Returns the user name. Containers can run as users without a passwd entry. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** @param longest maximum length of the command line, in characters */
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

/** Describes the program that a command line starts. Secrets are removed, because approvers and the audit log see the description. */
export function askingProgramOf(command: string, args: readonly string[], fileName?: string): AskingProgram {
  return { program: basename(command), commandLine: [basename(command), ...withoutSecrets(args)].join(' '), fileName };
}

const HIDDEN = '***';
/** Matches `-storepass`, `--pin`, `-passin` and `--ks-pass`, but not `--passive`. */
const NAMES_A_SECRET = /^--?[a-z-]*(?:pass(?:in|out|wd|word|phrase)?|pin|secret|token|key-?value)$/i;
/** Matches `pass:secret`. The forms `env` and `file` name only the location of a secret. */
const INLINE = /^(pass|pin):/i;
const ASSIGNED = /^(--?[a-z-]*(?:pass(?:in|out|wd|word|phrase)?|pin|secret|token))=/i;

/** Returns the arguments with probable secrets replaced, such as a PIN in a PKCS #11 URI or a password after its option. */
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

/** Replaces control characters and bidirectional marks, which could make a command line look like another one, and truncates the text. */
function plain(text: string, longest: number): string {
  const clean = text.replaceAll(/[\p{C}\u2028\u2029]/gu, ' ');
  return clean.length <= longest ? clean : `${clean.slice(0, longest - 1)}…`;
}

/**
 * Returns the Idempotency-Key of a request. For a day, the same body and key yield the same request, so a restarted program continues with the pending or
 * decided approval.
 *
 * @param after ID of the earlier request that the new request replaces, because the earlier request was rejected, withdrawn or expired
 */
export function requestNameOf(body: object, key: { id: string; version?: number }, after: string | undefined): string {
  const parts = JSON.stringify([body, key.id, key.version ?? null, after ?? null]);
  return `agent-${createHash('sha256').update(parts).digest('base64url')}`;
}
