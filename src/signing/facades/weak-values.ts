import { Problem } from '../../platform/errors/problem.js';

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['', '0', 'f', 'F', 'FALSE', 'false', 'False']);
const WHOLE = /^[+-]?(?:\d{1,15}|0[xX][\da-fA-F]{1,12})$/;

/**
 * WeakValues reads the fields of a body with Vault's weak typing. Vault's command line sends every value as a string, other clients send numbers and
 * booleans, and all of these types are accepted. A value that is null or absent is undefined. Unknown fields are ignored.
 */
export class WeakValues {
  private constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly at: string,
  ) {}

  /** @param at JSON pointer into the body (RFC 6901) */
  static of(body: unknown, at = ''): WeakValues {
    if (body === undefined || body === null) return new WeakValues({}, at);
    if (typeof body !== 'object' || Array.isArray(body)) throw notOfType(at, 'an object');
    return new WeakValues(body as Record<string, unknown>, at);
  }

  text(name: string): string | undefined {
    const value = this.values[name] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    if (typeof value === 'boolean') return value ? '1' : '0';
    throw this.wrong(name, 'a string');
  }

  flag(name: string): boolean | undefined {
    const value = this.values[name] ?? undefined;
    if (value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'number') return value !== 0;
    if (typeof value === 'string' && (TRUE.has(value) || FALSE.has(value))) return TRUE.has(value);
    throw this.wrong(name, 'a boolean');
  }

  whole(name: string): number | undefined {
    const value = this.values[name] ?? undefined;
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'boolean') return value ? 1 : 0;
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
    if (typeof value === 'string' && WHOLE.test(value)) return Number(value);
    throw this.wrong(name, 'an integer');
  }

  /** Returns the values of an object; no values if the object is absent. */
  object(name: string): WeakValues {
    return WeakValues.of(this.values[name], `${this.at}/${name}`);
  }

  /** Returns the items of a list; undefined if the list is absent. */
  list(name: string): WeakValues[] | undefined {
    const value = this.values[name] ?? undefined;
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.wrong(name, 'an array of objects');
    return value.map((item, i) => WeakValues.of(item, `${this.at}/${name}/${i}`));
  }

  /** Returns the items in a list of strings or in one comma-separated string. */
  texts(name: string): string[] | undefined {
    const value = this.values[name] ?? undefined;
    if (!Array.isArray(value))
      return this.text(name)
        ?.split(',')
        .filter((text) => text !== '');
    if (value.every((item) => typeof item === 'string')) return value;
    throw this.wrong(name, 'an array of strings');
  }

  /** Returns a Problem that names this field. */
  wrong(name: string, wanted: string): Problem {
    return notOfType(`${this.at}/${name}`, wanted);
  }
}

function notOfType(pointer: string, wanted: string): Problem {
  const detail = `must be ${wanted}`;
  const text = `Field validation failed: ${pointer === '' ? 'the body' : pointer} ${detail}.`;
  return new Problem('malformed', 'request.invalid', text, { errors: [{ pointer, detail }] });
}
