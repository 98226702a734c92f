//! Holds nothing: its tests hand an engine and a workload from elsewhere to dbduel.
