/** An account on a host. */
export interface Place {
  readonly hostId: string;
  readonly account: string;
}
