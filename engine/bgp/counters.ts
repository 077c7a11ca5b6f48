/** What a peer has done since the daemon started. */
import { KEEPALIVE, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE } from '../../sdk/wire/message.ts';
import type { PeerCounters } from './port.ts';

type Counters = { -readonly [K in keyof PeerCounters]: PeerCounters[K] };

export class MessageCounters implements Counters {
  updatesReceived = 0;
  updatesSent = 0;
  keepalivesReceived = 0;
  keepalivesSent = 0;
  notificationsReceived = 0;
  notificationsSent = 0;
  refreshesReceived = 0;
  refreshesSent = 0;
  opensReceived = 0;
  opensSent = 0;
  eorReceived = 0;
  eorSent = 0;
  bytesReceived = 0;
  bytesSent = 0;
  /** UPDATEs that filters of plugins kept out, or changed. */
  importRejected = 0;
  importModified = 0;
  exportRejected = 0;
  exportModified = 0;
  /** Messages with an attribute discarded, or treated as withdraw, or that ended the session (RFC 7606). */
  malformedDiscarded = 0;
  malformedWithdrawn = 0;
  malformedReset = 0;
  /** Messages treated as withdraw because our AS or cluster is on their path. */
  loops = 0;
  /** Messages whose announcements were dropped by a prefix limit that keeps the session. */
  limited = 0;

  received(type: number): void {
    switch (type) {
      case OPEN:
        this.opensReceived++;
        break;
      case UPDATE:
        this.updatesReceived++;
        break;
      case NOTIFICATION:
        this.notificationsReceived++;
        break;
      case KEEPALIVE:
        this.keepalivesReceived++;
        break;
      case ROUTE_REFRESH:
        this.refreshesReceived++;
        break;
    }
  }

  sent(type: number): void {
    switch (type) {
      case OPEN:
        this.opensSent++;
        break;
      case UPDATE:
        this.updatesSent++;
        break;
      case NOTIFICATION:
        this.notificationsSent++;
        break;
      case KEEPALIVE:
        this.keepalivesSent++;
        break;
      case ROUTE_REFRESH:
        this.refreshesSent++;
        break;
    }
  }

  /** A copy that crosses threads. */
  snapshot(): PeerCounters {
    return {
      updatesReceived: this.updatesReceived,
      updatesSent: this.updatesSent,
      keepalivesReceived: this.keepalivesReceived,
      keepalivesSent: this.keepalivesSent,
      notificationsReceived: this.notificationsReceived,
      notificationsSent: this.notificationsSent,
      refreshesReceived: this.refreshesReceived,
      refreshesSent: this.refreshesSent,
      opensReceived: this.opensReceived,
      opensSent: this.opensSent,
      eorReceived: this.eorReceived,
      eorSent: this.eorSent,
      bytesReceived: this.bytesReceived,
      bytesSent: this.bytesSent,
      importRejected: this.importRejected,
      importModified: this.importModified,
      exportRejected: this.exportRejected,
      exportModified: this.exportModified,
    };
  }
}
