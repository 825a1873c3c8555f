export const DISCOVERY_QUEUE = 'discovery';

/** A doorbell: these scans wait. */
export interface DiscoveryBell {
  readonly scanIds: string[];
}
