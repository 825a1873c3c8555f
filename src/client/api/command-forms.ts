import type { ClientCommand, CommandForm, OptionValues } from './command.js';
import { ClientError, EXIT, usageError } from './exit-codes.js';

/** formsOf returns the forms of a command by name. */
export function formsOf({ name, forms, options }: ClientCommand): Readonly<Record<string, CommandForm>> {
  return forms ?? { [name]: { uses: Object.keys(options), when: `for ${name}` } };
}

/** Throws a usage error if a given option or argument has no effect in the form that was called. */
export async function assertEffective(
  command: ClientCommand,
  given: OptionValues,
  positionals: readonly string[],
): Promise<void> {
  const forms = formsOf(command);
  const called = command.formOf === undefined ? Object.keys(forms)[0] : await command.formOf(given, positionals);
  if (called === undefined) return;
  const form = forms[called];
  if (form === undefined) throw new Error(`${command.name} has no form "${called}"`);
  const { uses, when, isOffline = false, isSilent = false, maxArguments = Infinity } = form;
  const idle = [...(isOffline ? ['url'] : []), ...(isSilent ? ['output'] : [])];
  for (const option of Object.keys(given))
    if (idle.includes(option) || (!uses.includes(option) && option in command.options))
      throw usageError(`--${option} has no effect ${when}. Omit it.`);
  const extra = positionals[maxArguments];
  if (extra !== undefined) throw usageError(`The argument "${extra}" has no effect ${when}. Omit it.`);
}

/** ReadOptions provides the options of a command and records which options were read. */
export class ReadOptions {
  private readonly read = new Set<string>();
  readonly values: OptionValues;

  constructor(private readonly given: OptionValues) {
    this.values = new Proxy(given, {
      get: (target, name) => {
        if (typeof name === 'string') this.read.add(name);
        return Reflect.get(target, name) as unknown;
      },
    });
  }

  /** Throws if a successful command did not read one of the given options, which means that the option had no effect. */
  assertAllRead(command: string): void {
    const ignored = Object.keys(this.given).filter((name) => !this.read.has(name));
    if (ignored.length > 0)
      throw new ClientError(EXIT.failed, `--${ignored.join(', --')} had no effect on ${command}.`);
  }
}
