export const DISCOVERY_QUEUE = 'discovery';

/** A doorbell: these scans wait. */
export interface DiscoverySignal {
  readonly scanIds: string[];
}
