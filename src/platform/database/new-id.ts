import { v7 } from 'uuid';

/** A UUIDv7 (RFC 9562 section 5.7): ordered by creation time, so that indexes stay dense. */
export function newId(): string {
  return v7();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return UUID.test(text);
}
