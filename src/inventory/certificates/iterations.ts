/**
 * Rounds of key derivation that one body may cost: each costs a hash or two, and a store may hold a thousand keys of its own salts.
 * Whoever asks for more gets a `false`, and reads what can be read without.
 */
export class Iterations {
  constructor(private left: number) {}

  take(rounds: number): boolean {
    if (!Number.isSafeInteger(rounds) || rounds < 1 || rounds > this.left) return false;
    this.left -= rounds;
    return true;
  }
}
