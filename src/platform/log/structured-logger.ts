import { ConsoleLogger } from '@nestjs/common';
import { isatty } from 'node:tty';
import type { Config, LogLevel } from '../config/config.js';

const LEVELS: Record<LogLevel, ('debug' | 'log' | 'warn' | 'error' | 'fatal')[]> = {
  debug: ['debug', 'log', 'warn', 'error', 'fatal'],
  log: ['log', 'warn', 'error', 'fatal'],
  warn: ['warn', 'error', 'fatal'],
  error: ['error', 'fatal'],
};

const NEST_AT_START = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/**
 * API keys, bearer tokens and passwords in URLs, anywhere in a text. None can begin again within
 * what it has read, so that a text costs as much as it is long.
 */
const SECRETS: readonly [RegExp, string][] = [
  [/\bsw_[0-9A-Za-z]{1,64}_[0-9A-Za-z]+/g, 'sw_***'],
  [/\beyJ[\w.-]+/g, 'eyJ***'],
  [/(Bearer|Basic)\s{1,20}[\w.~+/=-]+/gi, '$1 ***'],
  [/(:\/\/[^\s:/@]*):[^\s@/]+@/g, '$1:***@'],
];

export function redacted(text: string): string {
  return SECRETS.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text);
}

/** For so long a warning that comes again in the same words is counted and not printed. */
const FOLD_MS = 30_000;
/** Different warnings that are remembered. */
const MAX_FOLDED = 200;

/** Warnings that come again and again while something is away, such as the database: each is printed once in half a minute. */
export class RepeatedWarnings {
  private readonly known = new Map<string, { printedAt: number; folded: number }>();

  /** Answers how often the line came since it was printed last, to be printed with it now; undefined while it is only counted. */
  take(line: string, now = performance.now()): number | undefined {
    const seen = this.known.get(line);
    if (seen !== undefined && now - seen.printedAt < FOLD_MS) {
      seen.folded += 1;
      return undefined;
    }
    if (this.known.size >= MAX_FOLDED) this.known.clear();
    this.known.set(line, { printedAt: now, folded: 0 });
    return seen?.folded ?? 0;
  }
}

/** JSON lines in prod, readable lines in dev; the last line of defence against a secret in a log. */
export class StructuredLogger extends ConsoleLogger {
  private readonly repeated = new RepeatedWarnings();

  constructor(config: Config) {
    super({
      json: config.isProd,
      // Said where it is a file as well: Nest takes what is not said for a terminal.
      colors: !config.isProd && isatty(process.stdout.fd),
      logLevels: LEVELS[config.logLevel],
      flattenParams: true,
    });
  }

  /** Nest logs every module and route at start, which is for debugging. */
  override log(message: unknown, ...rest: unknown[]): void {
    if (NEST_AT_START.has(String(rest.at(-1)))) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }

  /** What belongs to one call (its id stands beside the message) is never folded. */
  override warn(message: unknown, ...rest: unknown[]): void {
    const [context] = rest;
    if (typeof message !== 'string' || rest.length !== 1 || typeof context !== 'string')
      return super.warn(message, ...rest);
    const folded = this.repeated.take(`${context} ${message}`);
    if (folded === undefined) return;
    super.warn(folded === 0 ? message : `${message} (repeated ${folded} times)`, context);
  }

  /** For people, line by line: what others wrote (a mail server, an identity provider) must not look like a line of ours. */
  protected override formatMessage(...args: Parameters<ConsoleLogger['formatMessage']>): string {
    const [level, message, ...rest] = args;
    return redacted(super.formatMessage(level, typeof message === 'string' ? onOneLine(message) : message, ...rest));
  }

  /** The lines of a stack stand in, those of the message that it begins with as well. */
  protected override printStackTrace(stack: string): void {
    if (stack) super.printStackTrace(redacted(stack.split('\n').map(onOneLine).join('\n    ')));
  }

  /** Every text of a JSON line, however deep. */
  protected override stringifyReplacer(key: string, value: unknown): unknown {
    const shown = super.stringifyReplacer(key, value);
    return typeof shown === 'string' ? redacted(shown) : shown;
  }
}

/** Of a command: its standard output is what it was asked for, and programs read it. */
export class CommandLogger extends StructuredLogger {
  protected override printMessages(...args: Parameters<ConsoleLogger['printMessages']>): void {
    const [messages, context, level, , ...rest] = args;
    super.printMessages(messages, context, level, 'stderr', ...rest);
  }
}

/** Control characters and line separators are shown as their code points. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
