set fwd flowgen
set burst 32
set txpkts 64
set promisc all on
start
