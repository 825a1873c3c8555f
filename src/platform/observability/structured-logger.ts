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
 * Patterns of API keys, bearer tokens and passwords in URLs. No pattern can match again within its own match, so the run time is linear in the length of
 * the text.
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

/** Time during which repetitions of a warning are counted instead of printed. */
const FOLD_MS = 30_000;
/** Maximum number of distinct warnings that are remembered. */
const MAX_FOLDED = 200;

/** RepeatedWarnings limits each recurring warning, as during a database outage, to one line every 30 seconds. */
export class RepeatedWarnings {
  private readonly known = new Map<string, { printedAt: number; folded: number }>();

  /** Returns undefined if the line must be suppressed; otherwise the number of times the line was suppressed since it was last printed. */
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

/** StructuredLogger writes JSON lines in prod and readable lines in dev. StructuredLogger also redacts secrets, as the last line of defense. */
export class StructuredLogger extends ConsoleLogger {
  private readonly repeated = new RepeatedWarnings();

  constructor(config: Config) {
    super({
      json: config.isProd,
      // Set explicitly, because Nest otherwise assumes a terminal even for a file.
      colors: !config.isProd && isatty(process.stdout.fd),
      logLevels: LEVELS[config.logLevel],
      flattenParams: true,
    });
  }

  /** Logs Nest's startup messages about modules and routes at level debug. */
  override log(message: unknown, ...rest: unknown[]): void {
    if (NEST_AT_START.has(String(rest.at(-1)))) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }

  /** Suppresses repeated warnings, except warnings about a single request, which have the request ID as an additional parameter. */
  override warn(message: unknown, ...rest: unknown[]): void {
    const [context] = rest;
    if (typeof message !== 'string' || rest.length !== 1 || typeof context !== 'string')
      return super.warn(message, ...rest);
    const folded = this.repeated.take(`${context} ${message}`);
    if (folded === undefined) return;
    super.warn(folded === 0 ? message : `${message} (repeated ${folded} times)`, context);
  }

  /** Keeps every message on one line, so that text from other systems (a mail server, an identity provider) cannot imitate log lines. */
  protected override formatMessage(...args: Parameters<ConsoleLogger['formatMessage']>): string {
    const [level, message, ...rest] = args;
    return redacted(super.formatMessage(level, typeof message === 'string' ? onOneLine(message) : message, ...rest));
  }

  /** Indents all lines of a stack trace, including the lines of its message. */
  protected override printStackTrace(stack: string): void {
    if (stack) super.printStackTrace(redacted(stack.split('\n').map(onOneLine).join('\n    ')));
  }

  /** Redacts every string of a JSON line, at any depth. */
  protected override stringifyReplacer(key: string, value: unknown): unknown {
    const shown = super.stringifyReplacer(key, value);
    return typeof shown === 'string' ? redacted(shown) : shown;
  }
}

/** CommandLogger writes to stderr, because stdout contains the output of the command, which other programs may read. */
export class CommandLogger extends StructuredLogger {
  protected override printMessages(...args: Parameters<ConsoleLogger['printMessages']>): void {
    const [messages, context, level, , ...rest] = args;
    super.printMessages(messages, context, level, 'stderr', ...rest);
  }
}

/** Replaces control characters and line separators with their code points. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
