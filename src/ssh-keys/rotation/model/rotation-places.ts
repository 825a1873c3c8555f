/** An account on a host. */
export interface Account {
  readonly hostId: string;
  readonly account: string;
}
