set fwd macswap
set burst 32
set promisc all on
start
