import { ConsoleLogger } from '@nestjs/common';
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

/** JSON lines in prod, readable lines in dev; the last line of defence against a secret in a log. */
export class StructuredLogger extends ConsoleLogger {
  constructor(config: Config) {
    super({
      json: config.isProd,
      colors: !config.isProd && process.stdout.isTTY,
      logLevels: LEVELS[config.logLevel],
      flattenParams: true,
    });
  }

  /** Nest logs every module and route at start, which is for debugging. */
  override log(message: unknown, ...rest: unknown[]): void {
    if (NEST_AT_START.has(String(rest.at(-1)))) this.debug(message, ...rest);
    else super.log(message, ...rest);
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

/** Control characters and line separators are shown as their code points. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
